"""What only the journal's own lines tell: when a run began, when it last wrote, and how long it was at work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from foretell.kernels.store.journal import read_moments


@dataclass(frozen=True)
class Clock:
    """Seconds since the epoch of the first and the last event; `active_s` leaves out gaps between sittings."""

    started: float
    last: float
    active_s: float
    decide_s: float

    @property
    def day(self) -> str:
        return datetime.fromtimestamp(self.started, UTC).strftime("%-d %B %Y, %H:%M UTC")


def read_clock(run_dir: Path, decide_s: float) -> Clock:
    """The clock of a run. The time between an interruption and the event after it is nobody's work."""
    moments = read_moments(run_dir)
    active_s = 0.0
    for (before, event), (after, _) in pairwise(moments):
        if event != "finished":
            active_s += max(0.0, after - before)
    return Clock(moments[0][0], moments[-1][0], active_s, decide_s)
