"""Wrong results that a careless check lets pass, for every operation of the CPU library: each must be found wrong.

The mutants are computed by the oracle, from inputs that were spoilt, so they have no error but the one that is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from foretell.kernels.bench.inputs import InputSet, differs, draw, mismatch
from foretell.kernels.library import tasks
from foretell.kernels.task import Task, Workload

Outputs = Sequence[NDArray[Any]]
SEEDS = (101, 102, 103)


def _of_spoilt_inputs(spoil: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[Task, Workload, InputSet], Outputs]:
    def outputs(task: Task, workload: Workload, drawn: InputSet) -> Outputs:
        arrays = {t.name: spoil(a) for t, a in zip(task.inputs, drawn.inputs, strict=True)}
        assert task.oracle is not None
        with np.errstate(all="ignore"):
            return task.oracle(arrays, workload.sizes)

    return outputs


def _second_half_left_out(array: NDArray[Any]) -> NDArray[Any]:
    left = array.copy()
    left[..., array.shape[-1] // 2 :] = 0
    return left


def _rounded(bits: int) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """To that many bits of mantissa, to nearest; integers stay as they are."""

    def spoil(array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype != np.float32:
            return array
        dropped = 23 - bits
        half, mask = np.uint32(1 << (dropped - 1)), np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)
        return ((array.view(np.uint32) + half) & mask).view(np.float32)

    return spoil


def _cut(bits: int, added: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """To that many bits of mantissa by leaving out the others, and `added` of a step for what they were on average."""

    def spoil(array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype != np.float32:
            return array
        step = 1 << 23 - bits
        return (array.view(np.uint32) & np.uint32(0x100000000 - step) | np.uint32(added * step)).view(np.float32)

    return spoil


MUTANTS: dict[str, Callable[[Task, Workload, InputSet], Outputs]] = {
    "zeros": lambda task, workload, drawn: [np.zeros_like(e.want) for e in drawn.expected],
    "mean": lambda task, workload, drawn: [np.full_like(e.want, e.want.mean()) for e in drawn.expected],
    "half_of_the_work": _of_spoilt_inputs(_second_half_left_out),
    "float16_or_tf32": _of_spoilt_inputs(_rounded(10)),
    "bfloat16": _of_spoilt_inputs(_rounded(7)),
    "float16_or_tf32_cut_quarter_added": _of_spoilt_inputs(_cut(10, 0.25)),
    "float16_or_tf32_cut_half_added": _of_spoilt_inputs(_cut(10, 0.5)),
    "float16_or_tf32_cut_most_added": _of_spoilt_inputs(_cut(10, 0.75)),
    "bfloat16_cut_half_added": _of_spoilt_inputs(_cut(7, 0.5)),
}


def _passes(task: Task, drawn: InputSet, outputs: Outputs) -> bool:
    """Whether the outputs would be taken for right, by the oracle or by agreeing with a reference."""
    by_oracle = by_reference = True
    for output, expected, tensor in zip(outputs, drawn.expected, task.outputs, strict=True):
        with np.errstate(invalid="ignore"):
            got = np.asarray(output).astype(tensor.dtype).reshape(expected.want.shape)
        by_oracle = by_oracle and not mismatch(got, expected)
        by_reference = by_reference and not differs(
            got, expected.want.astype(tensor.dtype), task.tolerance, drawn.scale
        )
    return by_oracle or by_reference


def _check(task: Task, workload: Workload, seed: int) -> None:
    exact = all(np.dtype(t.dtype).kind in "iu" for t in task.inputs)
    [drawn] = draw(task, workload, [seed])
    for mutant, outputs in MUTANTS.items():
        if exact and "float16" in mutant:
            continue  # whole numbers have no lower precision
        assert not _passes(task, drawn, outputs(task, workload, drawn)), (mutant, workload.name, seed)


@pytest.mark.parametrize("name", list(tasks()))
def test_no_mutant_passes(name: str) -> None:
    task = tasks()[name]
    _check(task, min(task.workloads, key=lambda workload: task.least_bytes(workload.sizes)), SEEDS[0])


@pytest.mark.full
@pytest.mark.parametrize("name", list(tasks()))
def test_no_mutant_passes_at_any_timed_workload(name: str) -> None:
    for workload in tasks()[name].workloads:
        for seed in SEEDS:
            _check(tasks()[name], workload, seed)
