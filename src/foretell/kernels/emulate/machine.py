"""The blocks of a launch on their way through a kernel, all lanes of a batch of blocks at a time.

Each lane has a place of its own; those furthest behind go first, so that lanes that part meet again. Whoever waits in
a loop for others would keep them from going on: after many steps in a row those that have waited longest go instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.emulate.kernel import Prepared, Segment
from foretell.kernels.emulate.lanes import LANES
from foretell.kernels.emulate.memory import Fault, Memory
from foretell.kernels.emulate.values import NotEmulated, Value
from foretell.kernels.languages.dry.ptx import Instruction

PATIENCE = 512  # segments in a row that go backwards, before others may go
_EVERY = slice(None)
_AXES = ("x", "y", "z")
Numbers = NDArray[np.int64]


class TooLong(Exception):
    """The kernel takes more lane instructions than it may."""


class Budget:
    """Lane instructions that are left."""

    def __init__(self, instructions: float) -> None:
        self.left = instructions

    def take(self, count: float) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLong("it takes more instructions than are executed")


class Machine:
    """A batch of blocks.

    Args:
        kernel: The kernel.
        memory: Its memory.
        addresses: Addresses of variables and parameters by name, each within its space.
        first: The number of the first block.
        blocks: How many there are in the batch.
        grid: Blocks of the launch.
        block: Threads per block.
        budget: What may be executed.
        dynamic_bytes: Dynamic shared memory.
    """

    def __init__(
        self,
        kernel: Prepared,
        memory: Memory,
        addresses: dict[str, int],
        first: int,
        blocks: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        budget: Budget,
        dynamic_bytes: int = 0,
    ) -> None:
        self.memory = memory
        self._kernel, self._addresses, self._budget = kernel, addresses, budget
        self._grid, self._block, self._dynamic = grid, block, dynamic_bytes
        threads = math.prod(block)
        self._slots = -(-threads // LANES) * LANES  # lanes of a block, those of a warp that is not full among them
        count = blocks * self._slots
        self._lane = np.arange(count, dtype=np.int64)
        self._thread = self._lane % self._slots
        self._number = first + self._lane // self._slots
        self._end = len(kernel.segments)
        self._place = np.where(self._thread < threads, 0, self._end).astype(np.int64)
        self._alive = self._thread < threads
        self._waiting = np.full(count, -1, np.int64)  # the barrier that a lane waits at
        self._expected = np.zeros(count, np.int64)
        self._values: list[Any] = [None] * len(kernel.registers)
        self._cache: dict[str, Value] = {}

    # What steps ask for

    def get(self, place: int, lanes: Any) -> Value:
        """The bits of a register; 0 before it was written."""
        value = self._values[place]
        if value is None:
            return np.uint64(0)
        return value if value.ndim == 0 or lanes is _EVERY else value[lanes]

    def set(self, place: int, lanes: Any, value: Value) -> None:
        if lanes is _EVERY:
            self._values[place] = value
            return
        old = self._values[place]
        if old is None or old.ndim == 0 or old.dtype != value.dtype:
            whole = np.zeros(len(self._lane), value.dtype)
            if old is not None:
                whole[:] = old.astype(value.dtype)
            self._values[place] = old = whole
        old[lanes] = value

    def narrowed(self, lanes: Any, register: int, negated: bool) -> Any:
        """The lanes that a predicate lets through; None if there is none."""
        value = self.get(register, lanes)
        if value.dtype.kind != "b":
            value = value != 0
        if value.ndim == 0:
            return lanes if bool(value) != negated else None
        kept = ~value if negated else value
        if lanes is _EVERY:
            kept = kept & self._alive
            if kept.all():
                return lanes
            found = np.flatnonzero(kept)
        else:
            found = lanes[kept]
        return found if len(found) else None

    def numbers(self, lanes: Any) -> Numbers:
        found: Numbers = self._lane[lanes]
        return found

    def active(self, lanes: Any) -> NDArray[np.bool_]:
        """Which lanes these are, as (warps, 32)."""
        mask = np.zeros(len(self._lane), bool)
        mask[lanes] = True
        return (mask & self._alive).reshape(-1, LANES)

    def by_warp(self, source: Any) -> Value:
        """An operand of all lanes as (warps, 32)."""
        return np.broadcast_to(source(self, _EVERY), self._lane.shape).reshape(-1, LANES)

    def whole_warps(self, lanes: Any) -> tuple[Numbers, Numbers]:
        """The warps that lanes belong to, and all of their lanes."""
        warps = np.unique(self._lane[lanes] // LANES)
        return warps, (warps[:, None] * LANES + np.arange(LANES)).reshape(-1)

    def address_of(self, name: str) -> Value | None:
        """The address of a variable or parameter within its space."""
        address = self._addresses.get(name)
        return None if address is None else np.uint64(address)

    def special(self, name: str, lanes: Any) -> Value:
        """A special register."""
        if name not in self._cache:
            self._cache[name] = self._special(name)
        value = self._cache[name]
        return value if value.ndim == 0 else value[lanes]

    def _special(self, name: str) -> Value:
        root, _, axis = name.partition(".")
        if axis:
            at = _AXES.index(axis)
            sides, numbers = (self._block, self._thread) if root in ("%tid", "%ntid") else (self._grid, self._number)
            if root in ("%ntid", "%nctaid"):
                return np.uint32(sides[at])
            return (numbers // math.prod(sides[:at]) % sides[at]).astype(np.uint32)
        lane = (self._thread % LANES).astype(np.uint32)
        one = np.uint32(1) << lane
        below = one - np.uint32(1)
        known: dict[str, Any] = {
            "%laneid": lane, "%warpid": (self._thread // LANES).astype(np.uint32), "%smid": np.uint32(0),
            "%nsmid": np.uint32(1), "%nwarpid": np.uint32(64), "%gridid": np.uint64(0),
            "%lanemask_eq": one, "%lanemask_lt": below, "%lanemask_le": below | one,
            "%lanemask_gt": ~(below | one), "%lanemask_ge": ~below, "%dynamic_smem_size": np.uint32(self._dynamic),
        }  # fmt: skip
        if root not in known:
            raise NotEmulated(f"the special register {name}")
        return known[root]

    # The way through

    def run(self) -> None:
        """Execute all lanes to their ends. Raises Fault, NotEmulated and TooLong."""
        together, at, backwards = bool(self._alive.all()), 0, 0
        lanes: Any = _EVERY
        while True:
            if not together:
                ready = self._alive & (self._waiting < 0)
                if not ready.any():
                    if self._alive.any():
                        raise Fault("its lanes wait for each other at barriers")
                    return
                places = self._place[ready]
                behind = int(places.min())
                if backwards > PATIENCE:
                    behind, backwards = int(places.max()), 0
                at = behind
                chosen = ready & (self._place == at)
                together = bool(chosen.all())
                lanes = _EVERY if together else np.flatnonzero(chosen)
            if at >= self._end:
                self._finish(lanes)
                together = False
                continue
            segment = self._kernel.segments[at]
            self._budget.take((len(segment.steps) + 1) * self._count(lanes))
            for step in segment.steps:
                step(self, lanes)
            following = self._left(segment, at, lanes)
            if following is None:
                together = False
            else:
                backwards = backwards + 1 if following <= at else backwards
                at = following
                if not together:
                    self._place[lanes] = at
                elif at >= self._end:
                    return

    def _count(self, lanes: Any) -> int:
        return len(self._lane) if lanes is _EVERY else len(lanes)

    def _left(self, segment: Segment, at: int, lanes: Any) -> int | None:
        """Where all these lanes go from a segment; None if they part, wait or end."""
        if not segment.ends:
            return segment.following
        chosen = lanes if segment.guard is None else self.narrowed(lanes, *segment.guard)
        if chosen is None:
            return segment.following
        if segment.ends == "barrier":
            return self._met(segment, at, lanes, chosen)
        if segment.ends == "trap":
            raise Fault("it traps")
        if segment.ends == "indirect":
            raise NotEmulated("indirect branches")
        target = self._end if segment.ends == "exit" else segment.target
        if target < 0:
            raise NotEmulated("a branch to an unknown place")
        if chosen is lanes or self._count(chosen) == self._count(lanes):
            return target
        self._place[lanes] = segment.following
        if target >= self._end:
            self._finish(chosen)
        self._place[chosen] = target
        return None

    def _finish(self, lanes: Any) -> None:
        """Lanes that end; barriers wait for them no longer."""
        self._alive[lanes] = False
        self._place[lanes] = self._end
        self._release()

    def _met(self, segment: Segment, at: int, lanes: Any, chosen: Any) -> int | None:
        """Lanes at a barrier."""
        barrier = segment.barrier
        assert barrier is not None
        if "red" in barrier.parts or "arrive" in barrier.parts:
            raise NotEmulated(f"the instruction {barrier.op}")
        if lanes is _EVERY and chosen is lanes and len(barrier.operands) < 2:
            return segment.following
        number, count = self._operands(barrier)
        self._place[lanes] = segment.following
        self._waiting[chosen] = number
        self._expected[chosen] = count
        self._release()
        return None

    def _operands(self, barrier: Instruction) -> tuple[int, int]:
        """The barrier's number, and how many threads it waits for; 0 if all of the block."""
        try:
            values = [int(operand, 0) for operand in barrier.operands]
        except ValueError as error:
            raise NotEmulated("barriers with computed numbers") from error
        return (values or [0])[0], values[1] if len(values) > 1 else 0

    def _release(self) -> None:
        """Let go of lanes at barriers that all they wait for have reached."""
        waiting = self._waiting.reshape(-1, self._slots)
        if not (waiting >= 0).any():
            return
        alive = self._alive.reshape(-1, self._slots)
        expected = self._expected.reshape(-1, self._slots)
        for number in np.unique(waiting[waiting >= 0]):
            here = waiting == number
            needed = np.where(here, expected, 0).max(axis=1)
            arrived = np.where(needed > 0, here.sum(axis=1) >= needed, here.sum(axis=1) == alive.sum(axis=1))
            waiting[here & arrived[:, None] & here.any(axis=1)[:, None]] = -1
