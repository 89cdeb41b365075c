"""What warps did, as counts: instructions by class, and memory traffic in sectors and passes over banks."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.languages.dry.numbers import LANES

SECTOR_BYTES, LINE_BYTES, BANKS, BANK_BYTES = 32, 128, 32, 4


@dataclass
class Traffic:
    """Accesses of one kind. `cost` is in sectors, or in passes over the banks of shared memory; `least` is the lowest
    cost at which the same bytes could be had; `distinct` are sectors that the warp had not touched before; `lines` are
    lines of 128 bytes; `crowd` is the most lanes of a request at one address, summed over requests. `fresh` are
    sectors that the warp had not touched in the same visit of a basic block. Lanes that loaded their own part of an
    address are far apart in `fresh` and `lines`; `cost` takes them to be in order."""

    requests: float = 0.0
    bytes: float = 0.0
    lanes: float = 0.0
    cost: float = 0.0
    least: float = 0.0
    distinct: float = 0.0
    unknown: float = 0.0
    lines: float = 0.0
    crowd: float = 0.0
    fresh: float = 0.0

    def add(self, other: Traffic, times: float = 1.0) -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + times * getattr(other, one.name))


@dataclass
class Counts:
    """`trips` are visits of blocks that wait for memory, `rounds` how often a warp waits for it one after the other,
    `active` lanes at work over all instructions.

    `shared_atomics` are lanes that change shared memory. `slots` are issue slots by pipe, `buffers` the traffic by kind
    and range of addresses (`BUFFER_BITS`), and `decided` whether every branch depended on known values.
    """

    classes: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    traffic: dict[str, Traffic] = field(default_factory=lambda: defaultdict(Traffic))
    slots: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    buffers: dict[tuple[str, int], Traffic] = field(default_factory=lambda: defaultdict(Traffic))
    tensor_flops: float = 0.0
    trips: float = 0.0
    rounds: float = 0.0
    shared_trips: float = 0.0
    shared_atomics: float = 0.0
    active: float = 0.0
    cut: bool = False
    decided: bool = True

    def add(self, other: Counts, times: float) -> None:
        for name, count in other.classes.items():
            self.classes[name] += count * times
        for kind, one in other.traffic.items():
            self.traffic[kind].add(one, times)
        for pipe, count in other.slots.items():
            self.slots[pipe] += count * times
        for place, one in other.buffers.items():
            self.buffers[place].add(one, times)
        self.tensor_flops += other.tensor_flops * times
        self.trips = max(self.trips, other.trips)
        self.shared_atomics += other.shared_atomics * times
        self.rounds = max(self.rounds, other.rounds)
        self.active += other.active * times
        self.shared_trips = max(self.shared_trips, other.shared_trips)
        self.cut = self.cut or other.cut
        self.decided = self.decided and other.decided

    @property
    def instructions(self) -> float:
        return sum(self.classes.values())


def sectors(where: NDArray[np.int64], width: int) -> tuple[float, float]:
    """Sectors that an access touches, and the fewest that could hold its bytes."""
    least = max(1, math.ceil(len(set(where.tolist())) * width / SECTOR_BYTES))
    return float(max(least, len(set((where // SECTOR_BYTES).tolist())))), float(least)


def bank_passes(where: NDArray[np.int64], width: int) -> tuple[float, float]:
    """Passes over the banks of shared memory, and the fewest; wide accesses go by halves and quarters of a warp."""
    lanes = LANES if width <= BANK_BYTES else max(1, LANES * BANK_BYTES // width)
    passes, least = 0, 0
    for start in range(0, len(where), lanes):
        words = {word for a in where[start : start + lanes].tolist()
                 for word in range(a // BANK_BYTES, (a + max(width, BANK_BYTES) - 1) // BANK_BYTES + 1)}  # fmt: skip
        passes += max(Counter(word % BANKS for word in words).values())
        least += max(1, math.ceil(len(words) / BANKS))
    return float(passes), float(least)
