"""The winner beside the kernel that a run started from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from foretell.kernels.measurement import Measurement
from foretell.kernels.search.state import Node, RunState
from foretell.report.numbers import times


@dataclass(frozen=True)
class OverStart:
    """How many times as fast the winner is as the given kernel, with a 95 % interval; 1 if it is that kernel."""

    speedup: float
    low: float
    high: float
    same: bool

    @property
    def shown_faster(self) -> bool:
        return self.low > 1.0

    @property
    def sentence(self) -> str:
        """What to tell people."""
        if self.same:
            return "no variation is faster than the given kernel"
        interval = f"95 % interval {times(self.low, sign='')} to {times(self.high, sign='')}"
        if not self.shown_faster:
            return f"not shown to be faster than the given kernel: {times(self.speedup, sign='x')} ({interval})"
        return f"{times(self.speedup, sign='')} times as fast as the given kernel ({interval})"

    def to_dict(self) -> dict[str, float | bool]:
        return {
            "speedup": self.speedup,
            "low": self.low,
            "high": self.high,
            "same": self.same,
            "shown_faster": self.shown_faster,
        }


def over_start(state: RunState) -> OverStart | None:
    """The winner's speedup over the given kernel; None without a winner or a given kernel, or if that does not work.

    Both are speedups over the reference, measured again at the end where the run got there; the errors of the two are
    taken for independent.
    """
    best, start = state.best, state.start
    if best is None or start is None:
        return None
    if best.id == start.id:
        return OverStart(1.0, 1.0, 1.0, True)
    ours, its = _outcome(best), _outcome(start)
    if ours is None or its is None:
        return None
    ratio = math.log(ours[0] / its[0])
    below = math.hypot(math.log(ours[0] / ours[1]), math.log(its[2] / its[0]))
    above = math.hypot(math.log(ours[2] / ours[0]), math.log(its[0] / its[1]))
    return OverStart(math.exp(ratio), math.exp(ratio - below), math.exp(ratio + above), False)


def start_trouble(state: RunState) -> str:
    """Why the given kernel cannot be compared with, in words; empty if it works or there is none."""
    start = state.start
    found = start.measurement if start is not None else None
    if found is None or found.ok:
        return ""
    first = found.message.strip().splitlines()
    return f"the given kernel does not work: {found.status.value}" + (f": {first[0]}" if first else "")


def _outcome(node: Node) -> tuple[float, float, float] | None:
    found: Measurement | None = node.verified if node.verified is not None and node.verified.ok else node.measurement
    if found is None or not found.ok or not found.speedup:
        return None
    return found.speedup, found.low or found.speedup, found.high or found.speedup
