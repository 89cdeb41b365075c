"""Input sets and what they must give. No candidate is timed on one that it has met: what it remembers is of no use.

Those of the library are computed by the oracle in the judge's process, those of a user's operation by its own code in
another. Sets of checks are kept and used again for other processes; those of timed runs are drawn anew for each, so
that no way from one process to another, such as what is in the page cache, brings results of use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.bench.distributions import draw_inputs
from foretell.kernels.bench.secret import Secret
from foretell.kernels.limits import TASK_LIMITS
from foretell.kernels.task import Oracle, Task, Tolerance, Workload, tensor_bytes
from foretell.kernels.tasks import cpu

POOL_BYTES = 512 << 20  # of input sets kept for the next candidate, with what they must give
MOST_OWN_SEED = 1 << 32  # beyond this a user's generator may refuse a seed
_WITH_ORACLE = 4  # one in so many timed runs is judged by the oracle, the others by the reference on the same inputs


@dataclass(frozen=True)
class Expected:
    """What one output must be: within `low` to `high`, elementwise. `want` is in double precision, for messages.

    Where `exact`, numbers may not differ at all, not even 0 in its sign.
    """

    want: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    exact: bool = False


def expect(want: NDArray[Any], dtype: str, tolerance: Tolerance, scale: NDArray[Any] | float = 1.0) -> Expected:
    """|got - want| <= absolute * scale + relative * |want| as bounds in the output's own type.

    Integers are equal, and so are infinities.
    """
    if np.issubdtype(np.dtype(dtype), np.integer):
        exact = want.astype(dtype)
        return Expected(want, exact, exact)
    room = np.where(np.isinf(want), 0.0, np.abs(want))
    with np.errstate(over="ignore"):  # what is too large for the type is infinite in it
        room *= tolerance.relative
        room += tolerance.absolute * scale
        return Expected(want, (want - room).astype(dtype), (want + room).astype(dtype), not room.any())


class InputSet:
    """Inputs of one workload from one seed, with what the outputs must be, computed when first asked for.

    `by_oracle` says, for a timed run, that the oracle judges it, and not the reference's outputs. `scale` is the factor
    of the absolute tolerance for each item of the output.
    """

    def __init__(
        self,
        inputs: Sequence[NDArray[Any]],
        expected: Callable[[], tuple[Expected, ...]],
        by_oracle: bool,
        scale: NDArray[Any] | float = 1.0,
    ) -> None:
        self.inputs = tuple(inputs)
        self._expected = expected
        self.by_oracle = by_oracle
        self.scale = scale

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        return self._expected()


def draw(task: Task, workload: Workload, seeds: Sequence[int], extreme: bool = False) -> list[InputSet]:
    """An input set for each seed; `extreme` as in `draw_inputs`. Raises BadTask if a user's code cannot make them."""
    if task.files:
        return [
            InputSet(inputs, lambda outputs=outputs: _bounds(task, outputs), by_oracle=True)  # type: ignore[misc]
            for inputs, outputs in cpu.draw(task, workload, seeds)
        ]
    if task.oracle is None:
        raise ValueError(f"task {task.name} has no numpy oracle: it is measured on a GPU only")
    return [_from_library(task, task.oracle, workload, seed, extreme) for seed in seeds]


def _from_library(task: Task, oracle: Oracle, workload: Workload, seed: int, extreme: bool) -> InputSet:
    rng = np.random.Generator(np.random.SFC64(seed))
    arrays, scale = draw_inputs(task, workload.sizes, rng, extreme)
    by_oracle = int(rng.integers(_WITH_ORACLE)) == 0
    return InputSet(
        tuple(arrays.values()), lambda: _bounds(task, oracle(arrays, workload.sizes), scale), by_oracle, scale
    )


def _bounds(task: Task, outputs: Sequence[NDArray[Any]], scale: NDArray[Any] | float = 1.0) -> tuple[Expected, ...]:
    return tuple(expect(o, t.dtype, task.tolerance, scale) for o, t in zip(outputs, task.outputs, strict=True))


class InputPool:
    """Input sets of every workload, by index, drawn when first asked for.

    Seeds come from `secret` and the `turn`, which no other pool has: nothing that a candidate has met tells of other
    sets. The oldest sets are dropped once
    they take more than POOL_BYTES, and drawn again if they are asked for.
    """

    def __init__(self, task: Task, secret: Secret, turn: int = 0) -> None:
        self._task = task
        self._secret = secret
        self._turn = turn
        self._sets: OrderedDict[tuple[str, int], tuple[InputSet, int]] = OrderedDict()  # with its bytes
        self._bytes = 0

    def get(self, workload: Workload, index: int) -> InputSet:
        if (workload.name, index) not in self._sets:
            set_bytes = self._set_bytes(workload)
            indices = range(index, index + self._at_once(set_bytes))
            seeds = [self._seed(workload, each) for each in indices]
            for each, drawn in zip(indices, draw(self._task, workload, seeds), strict=True):
                if (workload.name, each) not in self._sets:
                    self._sets[workload.name, each] = drawn, set_bytes
                    self._bytes += set_bytes
            drawn_set, _ = self._sets[workload.name, index]
            self._drop_oldest()
            return drawn_set
        return self._sets[workload.name, index][0]

    def _drop_oldest(self) -> None:
        while self._bytes > POOL_BYTES and len(self._sets) > 1:
            _, (_, set_bytes) = self._sets.popitem(last=False)
            self._bytes -= set_bytes

    def _set_bytes(self, workload: Workload) -> int:
        """Inputs, and four times the outputs: in double precision, and their bounds."""
        inputs = sum(tensor_bytes(tensor, workload.sizes) for tensor in self._task.inputs)
        return max(1, inputs + 4 * sum(tensor_bytes(tensor, workload.sizes) for tensor in self._task.outputs))

    def _at_once(self, set_bytes: int) -> int:
        """How many sets to draw at a time: several where each time costs a process."""
        if not self._task.files:
            return 1
        return max(1, min(TASK_LIMITS.sets_per_call, TASK_LIMITS.bytes_per_call // set_bytes))

    def _seed(self, workload: Workload, index: int) -> int:
        number = self._secret.number(self._turn, workload.name, index)
        return number % MOST_OWN_SEED if self._task.files else number


def mismatch(got: NDArray[Any], expected: Expected) -> str:
    """How an output differs from what was expected, in words; empty when within tolerance. NaN never passes."""
    right = (got >= expected.low) & (got <= expected.high)
    if expected.exact:
        right &= np.signbit(got) == np.signbit(expected.want)
    if right.all():
        return ""
    wrong = ~right
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    where = ", ".join(str(int(i)) for i in first)
    count = int(np.count_nonzero(wrong))
    values = f"got {got[first]:.6g}, expected {expected.want[first]:.6g}"
    return f"{count} of {got.size} values are wrong; at [{where}] {values}"


def differs(got: NDArray[Any], reference: NDArray[Any], tolerance: Tolerance, scale: NDArray[Any] | float = 1.0) -> str:
    """How an output differs from the reference's on the same inputs by more than the tolerance, in words; or empty.

    Both may be right and differ: then the oracle must decide.
    """
    if np.array_equal(got, reference):
        return ""
    return mismatch(got, expect(np.array(reference), got.dtype.name, tolerance, scale))
