"""Input sets and what they must give: drawn afresh for every bench, computed by the oracle in the judge's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Task, Tolerance, Workload, fill_array


@dataclass(frozen=True)
class Expected:
    """What one output must be: within `low` to `high`, elementwise. `want` is in double precision, for messages."""

    want: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def expect(want: NDArray[Any], dtype: str, tolerance: Tolerance) -> Expected:
    """|got - want| <= absolute + relative * |want| as bounds in the output's own type; integers must be equal."""
    if np.issubdtype(np.dtype(dtype), np.integer):
        exact = want.astype(dtype)
        return Expected(want, exact, exact)
    room = tolerance.absolute + tolerance.relative * np.abs(want)
    return Expected(want, (want - room).astype(dtype), (want + room).astype(dtype))


@dataclass(frozen=True)
class InputSet:
    """Inputs of one workload from one seed, with what the outputs must be."""

    inputs: tuple[NDArray[Any], ...]
    expected: tuple[Expected, ...]


def draw(task: Task, workload: Workload, seed: int) -> InputSet:
    if task.oracle is None:
        raise ValueError(f"task {task.name} has no numpy oracle: it is measured on a GPU only")
    rng = np.random.default_rng(seed)
    arrays = {tensor.name: fill_array(tensor, workload.sizes, rng) for tensor in task.inputs}
    outputs = task.oracle(arrays, workload.sizes)
    expected = (expect(o, t.dtype, task.tolerance) for o, t in zip(outputs, task.outputs, strict=True))
    return InputSet(tuple(arrays.values()), tuple(expected))


class InputPool:
    """Lazily drawn input sets of every workload, by index.

    Seeds come from `entropy`, which a bench takes from the operating system: no candidate can know them beforehand.
    """

    def __init__(self, task: Task, entropy: int) -> None:
        self._task = task
        self._entropy = entropy
        self._sets: dict[tuple[str, int], InputSet] = {}

    def get(self, workload: Workload, index: int) -> InputSet:
        key = (workload.name, index)
        if key not in self._sets:
            name = int.from_bytes(workload.name.encode()[-8:], "big")
            seed = np.random.SeedSequence([self._entropy, name, key[1]]).generate_state(1)[0]
            self._sets[key] = draw(self._task, workload, int(seed))
        return self._sets[key]


def mismatch(got: NDArray[Any], expected: Expected) -> str:
    """How an output differs from what was expected, in words; empty when within tolerance. NaN never passes."""
    right = (got >= expected.low) & (got <= expected.high)
    if right.all():
        return ""
    wrong = ~right
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    where = ", ".join(str(int(i)) for i in first)
    count = int(np.count_nonzero(wrong))
    values = f"got {got[first]:.6g}, expected {expected.want[first]:.6g}"
    return f"{count} of {got.size} values are wrong; at [{where}] {values}"
