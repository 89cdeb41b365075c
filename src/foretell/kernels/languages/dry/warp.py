"""One warp on its way through a program.

While all lanes are together there is one place where they are. When they part, each has a place of its own, and those
furthest behind go first, so that they meet again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.languages.dry.numbers import BUFFER_BITS, LANES, Vague, Value
from foretell.kernels.languages.dry.program import NOWHERE, Access, Guard, Program, Ready, Step
from foretell.kernels.languages.dry.traffic import (
    LINE_BYTES,
    SECTOR_BYTES,
    Counts,
    Traffic,
    bank_passes,
    sectors,
)

FOLLOWED = 3  # visits of a block in which addresses are looked at
MOST_STEPS = 100_000  # of one warp
SPINS = 8  # rounds of a loop whose end depends on what is not known

Lanes = NDArray[np.bool_]
_ALL = np.ones(LANES, dtype=bool)


class Warp:
    """`registers` are the values at the start; `lanes` those that exist; `followed` visits of a block are looked at.

    `touched` are the sectors of global memory that were seen to be touched, by kind of access. Who is `hasty` takes
    branches on something unknown if they lead forwards; loops are left by them after a few rounds.
    """

    def __init__(
        self, program: Program, registers: list[Value], lanes: Lanes, followed: int = FOLLOWED, hasty: bool = False
    ) -> None:
        self._blocks, self._registers, self._followed, self._hasty = program.blocks, registers, followed, hasty
        self._end = len(self._blocks)
        self._visits = [0] * self._end
        self._lanes_seen = [0] * self._end
        self._traffic: list[dict[int, Traffic]] = [{} for _ in self._blocks]
        self._homes: dict[int, int] = {}  # range of addresses by access
        self._decided = True
        self._undecided = [0] * self._end
        self._recent: dict[str, set[int]] = {}  # sectors touched in this visit of a block, by kind of access
        self.touched: dict[str, set[int]] = {}
        self._together = bool(lanes.all())
        self._places = np.where(lanes, 0, self._end)

    def run(self) -> Counts:
        """Go to the end, or until it takes too long; later visits of a block count as the first ones did."""
        at, left = 0, MOST_STEPS
        while left > 0:
            lanes: Lanes | None = None
            if not self._together:
                at = int(self._places.min())
                lanes = self._places == at
            if at >= self._end:
                break
            block = self._blocks[at]
            self._visits[at] += 1
            self._lanes_seen[at] += LANES if lanes is None else int(lanes.sum())
            steps = block.full if self._visits[at] <= self._followed else block.control
            left -= len(steps) + 1
            self._recent.clear()
            for step in steps:
                if isinstance(step, Step):
                    self._step(step, lanes)
                else:
                    self._access(at, step, lanes)
            at = self._onward(at, block, lanes)
        return self._counts(cut=left <= 0 or self._hasty)

    def _taken(self, guard: Guard) -> Any:
        """Which lanes a guard lets through: True, False or an array; who is not known is let through."""
        value = True if guard.place == NOWHERE else self._registers[guard.place]
        if value is None:
            return True
        if isinstance(value, np.ndarray):
            return value.astype(bool) != guard.negated
        return bool(value) != guard.negated

    def _step(self, step: Step, lanes: Lanes | None) -> None:
        registers = self._registers
        try:
            values = step.function(*[registers[i] for i in step.sources])
        except (TypeError, ZeroDivisionError, OverflowError, ValueError):
            values = (None,) * len(step.results)
        mask: Any = lanes
        if step.guard.place != NOWHERE:
            taken = self._taken(step.guard)
            if taken is False:
                return
            if taken is not True:
                mask = taken if lanes is None else lanes & taken
        for place, value in zip(step.results, values, strict=False):
            old = registers[place]
            known = mask is not None and value is not None and not isinstance(value, Vague)
            old = None if isinstance(old, Vague) else old
            registers[place] = np.where(mask, value, 0 if old is None else old) if known else value

    def _access(self, at: int, access: Access, lanes: Lanes | None) -> None:
        mask = (_ALL if lanes is None else lanes) & self._taken(access.guard)
        if access.size != NOWHERE and self._registers[access.size] is not None:
            mask = mask & (self._registers[access.size] != 0)
        active = int(mask.sum())
        if not active:
            return
        width = access.width if access.amount == NOWHERE else self._amount(access.amount)
        one = Traffic(1.0, float(active * width), float(active))
        address = None if access.address == NOWHERE else self._registers[access.address]
        if address is None or isinstance(address, Vague):
            one.cost = one.least = one.distinct = one.fresh = math.ceil(active * width / SECTOR_BYTES)
            one.unknown = float(access.address != NOWHERE)
            if isinstance(address, Vague) and (home := int(np.max(address.known)) >> BUFFER_BITS) > 0:
                self._homes[id(access)] = home
                one.fresh = max(one.cost, float(len(set(address.places(SECTOR_BYTES)[mask].tolist()))))
                one.lines = float(len(set(address.places(LINE_BYTES)[mask].tolist())))
        else:
            where = np.broadcast_to(np.asarray(address, dtype=np.int64), LANES)[mask] + access.offset
            if access.kind.startswith("shared"):
                one.cost, one.least = bank_passes(where, width)
            else:
                one.cost, one.least = sectors(where, width)
                one.lines = float(len(set((where // LINE_BYTES).tolist())))
                one.crowd = float(np.unique(where, return_counts=True)[1].max()) if access.kind == "atomic" else 1.0
                self._homes[id(access)] = int(where[0]) >> BUFFER_BITS
                touched = self.touched.setdefault(access.kind, set())
                before = len(touched)
                places = set((where // SECTOR_BYTES).tolist())
                touched |= places
                one.distinct = float(len(touched) - before)
                recent = self._recent.setdefault(access.kind, set())
                one.fresh = one.cost - len(places & recent)
                recent |= places
        self._traffic[at].setdefault(id(access), Traffic()).add(one)

    def _amount(self, place: int) -> int:
        """Bytes of a copy in bulk, of one lane; 0 where they are not known."""
        value = self._registers[place]
        return 0 if value is None or isinstance(value, Vague) else int(np.max(value))

    def _onward(self, at: int, block: Ready, lanes: Lanes | None) -> int:
        """Where the lanes go from here; a branch on something unknown is not taken, unless it alone ends a loop."""
        target = self._end if block.leaves else block.target if block.target != NOWHERE else at + 1
        taken: Any = True
        if block.guard.place != NOWHERE and self._registers[block.guard.place] is None:
            self._decided = False
            self._undecided[at] += 1
            spun = self._undecided[at] % SPINS == 0
            taken = (block.alone and spun) or (self._hasty and target > at and (spun or not block.ends_loop))
        elif block.guard.place != NOWHERE:
            taken = self._taken(block.guard)
        if isinstance(taken, np.ndarray):
            there = taken if lanes is None else taken & lanes
            if there.any() and not (there == (_ALL if lanes is None else lanes)).all():
                if self._together:
                    self._together, self._places = False, np.full(LANES, at + 1)
                else:
                    self._places[lanes] = at + 1
                self._places[there] = target
                return at
            taken = bool(there.any())
        place = target if taken else at + 1
        if lanes is not None:
            self._places[lanes] = place
            self._together = bool((self._places == place).all())
        return place

    def _counts(self, cut: bool) -> Counts:
        found = Counts(cut=cut, decided=self._decided)
        for at, block in enumerate(self._blocks):
            visits = self._visits[at]
            if not visits:
                continue
            for name, count in block.classes.items():
                found.classes[name] += count * visits
            for pipe, taken in block.slots.items():
                found.slots[pipe] += taken * visits
            found.tensor_flops += block.flops * visits
            found.shared_trips += visits if block.waits_shared else 0
            found.trips += visits if block.waits else 0
            found.rounds += visits * block.rounds
            found.active += block.length * self._lanes_seen[at] / LANES
            for access in block.full:
                if isinstance(access, Access) and id(access) in self._traffic[at]:
                    times = visits / min(visits, self._followed)
                    found.traffic[access.kind].add(self._traffic[at][id(access)], times)
                    if access.shared and access.kind == "atomic":
                        found.shared_atomics += self._traffic[at][id(access)].lanes * times
                    elif not access.kind.startswith("shared"):
                        home = self._homes.get(id(access), NOWHERE)
                        found.buffers[access.kind, home].add(self._traffic[at][id(access)], times)
        return found
