"""Input sets and what they must give: drawn afresh for every bench, computed by the oracle in the judge's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Task, Tolerance, Workload, fill_array


@dataclass(frozen=True)
class InputSet:
    """Inputs of one workload from one seed, with the expected outputs in double precision."""

    inputs: tuple[NDArray[Any], ...]
    expected: tuple[NDArray[Any], ...]


def draw(task: Task, workload: Workload, seed: int) -> InputSet:
    if task.oracle is None:
        raise ValueError(f"task {task.name} has no numpy oracle: it is measured on a GPU only")
    rng = np.random.default_rng(seed)
    arrays = {tensor.name: fill_array(tensor, workload.sizes, rng) for tensor in task.inputs}
    return InputSet(tuple(arrays.values()), tuple(task.oracle(arrays, workload.sizes)))


class InputPool:
    """Lazily drawn input sets: `count` for every timed workload, one for every extra shape.

    Seeds come from `entropy`, which a bench takes from the operating system: no candidate can know them beforehand.
    """

    def __init__(self, task: Task, count: int, entropy: int) -> None:
        self._task = task
        self._count = count
        self._entropy = entropy
        self._sets: dict[tuple[str, int], InputSet] = {}

    def get(self, workload: Workload, index: int) -> InputSet:
        key = (workload.name, index % self._count)
        if key not in self._sets:
            name = int.from_bytes(workload.name.encode()[-8:], "big")
            seed = np.random.SeedSequence([self._entropy, name, key[1]]).generate_state(1)[0]
            self._sets[key] = draw(self._task, workload, int(seed))
        return self._sets[key]


def mismatch(got: NDArray[Any], want: NDArray[Any], tolerance: Tolerance) -> str:
    """How an output differs from what was expected, in words; empty when within tolerance. NaN never passes."""
    if np.issubdtype(got.dtype, np.integer):
        wrong = got != want
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~(np.abs(got - want) <= tolerance.absolute + tolerance.relative * np.abs(want))
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return ""
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    where = ", ".join(str(int(i)) for i in first)
    return f"{count} of {got.size} values are wrong; at [{where}] got {got[first]:.6g}, expected {want[first]:.6g}"
