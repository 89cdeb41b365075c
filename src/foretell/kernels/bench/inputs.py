"""Input sets and what they must give: drawn afresh for every bench.

Those of the library are computed by the oracle in the judge's process, those of a user's operation by its own code in
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.profiles import TASK_LIMITS
from foretell.kernels.task import Oracle, Task, Tolerance, Workload, fill_array, tensor_bytes
from foretell.kernels.tasks import cpu


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


def draw(task: Task, workload: Workload, seeds: Sequence[int]) -> list[InputSet]:
    """An input set for each seed. Raises BadTask if a user's code cannot make them."""
    if task.files:
        drawn = cpu.draw(task, workload, seeds)
    elif task.oracle is not None:
        drawn = [_by_oracle(task, task.oracle, workload, seed) for seed in seeds]
    else:
        raise ValueError(f"task {task.name} has no numpy oracle: it is measured on a GPU only")
    return [
        InputSet(
            tuple(inputs),
            tuple(expect(o, t.dtype, task.tolerance) for o, t in zip(outputs, task.outputs, strict=True)),
        )
        for inputs, outputs in drawn
    ]


def _by_oracle(
    task: Task, oracle: Oracle, workload: Workload, seed: int
) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    rng = np.random.default_rng(seed)
    arrays = {tensor.name: fill_array(tensor, workload.sizes, rng) for tensor in task.inputs}
    return list(arrays.values()), list(oracle(arrays, workload.sizes))


class InputPool:
    """Lazily drawn input sets of every workload, by index.

    Seeds come from `entropy`, which a bench takes from the operating system: no candidate can know them beforehand.
    """

    def __init__(self, task: Task, entropy: int) -> None:
        self._task = task
        self._entropy = entropy
        self._sets: dict[tuple[str, int], InputSet] = {}

    def get(self, workload: Workload, index: int) -> InputSet:
        if (workload.name, index) not in self._sets:
            indices = range(index, index + self._at_once(workload))
            seeds = [self._seed(workload, each) for each in indices]
            for each, drawn in zip(indices, draw(self._task, workload, seeds), strict=True):
                self._sets.setdefault((workload.name, each), drawn)
        return self._sets[workload.name, index]

    def _at_once(self, workload: Workload) -> int:
        """How many sets to draw at a time: several where each time costs a process."""
        if not self._task.files:
            return 1
        tensors = (*self._task.inputs, *self._task.outputs)
        bytes_per_set = max(1, sum(tensor_bytes(tensor, workload.sizes) for tensor in tensors))
        return max(1, min(TASK_LIMITS.sets_per_call, TASK_LIMITS.bytes_per_call // bytes_per_set))

    def _seed(self, workload: Workload, index: int) -> int:
        name = int.from_bytes(workload.name.encode()[-8:], "big")
        return int(np.random.SeedSequence([self._entropy, name, index]).generate_state(1)[0])


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
