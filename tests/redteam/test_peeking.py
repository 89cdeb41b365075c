"""Short cuts by kernels that look at a few items and take the rest for known: each must be found wrong in every set.

The kernels are told in numpy, in float32, with the tests by which attackers recognised the inputs of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from foretell.kernels.bench.inputs import InputSet, draw, mismatch
from foretell.kernels.library import get
from foretell.kernels.task import Task, Workload

Array = NDArray[Any]
SEEDS = (201, 202, 203)
_QUADRATIC = (0.496251722, 1.014858031, 1.000443206)
_CUBIC = (0.165667565, 0.504963346, 1.000164244, 0.999928073)


def _exp(x: Array, coefficients: tuple[float, ...] = ()) -> Array:
    """exp in float32, or by a polynomial after range reduction."""
    if not coefficients:
        return np.asarray(np.exp(x))
    x = np.maximum(x, np.float32(-87))
    power = np.rint(x * np.float32(1.44269504))
    rest = x - power * np.float32(0.693147181)
    return np.asarray(np.ldexp(np.polyval(np.array(coefficients, np.float32), rest), power.astype(np.int32)))


def _starts_small(x: Array) -> Array:
    return np.asarray((np.abs(x[:, :12]) < 2).all(axis=1, keepdims=True))


def _normalised(e: Array) -> Array:
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _softmax_without_maximum(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    return _normalised(_exp(x - np.where(_starts_small(x), np.float32(2), x.max(axis=1, keepdims=True))))


def _softmax_of_low_degree(inputs: tuple[Array, ...], workload: Workload) -> Array:
    [x] = inputs
    shifted = x - np.where(_starts_small(x), np.float32(2), x.max(axis=1, keepdims=True))
    quadratic = _starts_small(x) & (workload.sizes["cols"] > 4096)
    return _normalised(np.where(quadratic, _exp(shifted, _QUADRATIC), _exp(shifted, _CUBIC)))


def _low_degree_where_outputs_are_small(inputs: tuple[Array, ...], _: Workload) -> Array:
    """Recognises no inputs: the tolerance alone can find it wrong."""
    [x] = inputs
    shifted = x - x.max(axis=1, keepdims=True)
    right = _normalised(_exp(shifted))
    return np.asarray(np.where(right < 2e-4, _normalised(_exp(shifted, _QUADRATIC)), right))


def _scaled_by_a_quadratic(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    right = _exp((x - x.max(axis=1, keepdims=True)) / 8)
    fitted = np.polyval(np.array((0.498049360, 1.007772831, 1.000121040), np.float32), x / 8)
    return _normalised(np.where(_starts_small(x), fitted, right))


def _logsumexp_by_a_fit(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    peak = x.max(axis=1, keepdims=True)
    right = np.log(_exp(x - peak).sum(axis=1)) + peak[:, 0]
    fit = np.array((0.009623467, 0.049166493, 0.164507741, 0.491493130, 1.000740930, 1.000659906), np.float32)
    return np.asarray(np.where(_starts_small(x)[:, 0], np.log(np.polyval(fit, x).sum(axis=1)), right))


def _histogram_of_pieces(inputs: tuple[Array, ...], workload: Workload) -> Array:
    [values] = inputs
    pieces = values[: values.size // 64 * 64].reshape(-1, 64)
    alike = (pieces[:, :16] == pieces[:, :1]).all(axis=1)
    believed = np.where(alike[:, None], pieces[:, :1], pieces)
    rest = values[pieces.size :]
    return np.bincount(np.concatenate((believed.reshape(-1), rest)), minlength=workload.sizes["bins"]).astype(np.int32)


def _argmax_up_to_the_top(inputs: tuple[Array, ...], _: Workload) -> Array:
    [x] = inputs
    top = x == 2999
    seen = np.where(np.maximum.accumulate(top, axis=1), np.where(top, x, -np.inf), x)
    return np.asarray(seen.argmax(axis=1))


def _mask_by_its_beginning(inputs: tuple[Array, ...], _: Workload) -> Array:
    x, keep, residual = inputs
    alike = (keep[:, :32] == keep[:, :1]).all(axis=1, keepdims=True)
    return np.asarray(residual + x * (np.where(alike, keep[:, :1], keep) * np.float32(1.25)))


KERNELS: dict[Callable[[tuple[Array, ...], Workload], Array], tuple[str, dict[str, int]]] = {
    _softmax_without_maximum: ("softmax", {"rows": 16, "cols": 8192}),
    _softmax_of_low_degree: ("softmax", {"rows": 16, "cols": 8192}),
    _low_degree_where_outputs_are_small: ("softmax", {"rows": 16, "cols": 8192}),
    _scaled_by_a_quadratic: ("softmax_scaled", {"rows": 32, "cols": 8192}),
    _logsumexp_by_a_fit: ("row_logsumexp", {"rows": 32, "cols": 8192}),
    _histogram_of_pieces: ("histogram", {"count": 2_500_000, "bins": 10}),
    _argmax_up_to_the_top: ("argmax", {"rows": 1024, "cols": 1536}),
    _mask_by_its_beginning: ("masked_residual", {"rows": 1024, "cols": 2048}),
}


def _found_wrong(task: Task, drawn: InputSet, got: Array) -> bool:
    [expected] = drawn.expected
    [output] = task.outputs
    return bool(mismatch(got.astype(output.dtype), expected))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__.strip("_"))
def test_a_kernel_that_believes_a_few_items_is_wrong(kernel: Callable[[tuple[Array, ...], Workload], Array]) -> None:
    name, sizes = KERNELS[kernel]
    task, workload = get(name), Workload(sizes)
    assert workload in task.workloads, "where it is timed"
    for drawn in draw(task, workload, SEEDS):
        with np.errstate(all="ignore"):
            assert _found_wrong(task, drawn, kernel(drawn.inputs, workload))


def test_the_honest_kernels_within_are_right() -> None:
    """The same code with nothing believed: what is found wrong above is the short cut."""
    task = get("softmax")
    workload = Workload({"rows": 16, "cols": 8192})
    for drawn in draw(task, workload, SEEDS):
        [x] = drawn.inputs
        for coefficients in ((), _CUBIC):
            honest = _normalised(_exp(x - x.max(axis=1, keepdims=True), coefficients))
            assert not _found_wrong(task, drawn, honest)


@pytest.mark.parametrize("bins", [4, 10])
def test_few_bytes_in_a_row_are_alike_even_where_few_values_exist(bins: int) -> None:
    [workload] = [each for each in get("histogram").workloads if each.sizes["bins"] == bins]
    [drawn] = draw(get("histogram"), workload, SEEDS[:1])
    [values] = drawn.inputs
    pieces = values[: values.size // 16 * 16].reshape(-1, 16)
    assert 0.01 < (pieces.min(axis=1) == pieces.max(axis=1)).mean() < 0.1, "some are, so that believing them is wrong"
