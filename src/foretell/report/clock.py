"""What only the journal's own lines tell: when a run began, when it last wrote, and how long deciding took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from foretell.kernels.store import read_journal


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


def read_clock(run_dir: Path) -> Clock:
    """The clock of a run. The time between an interruption and the event after it is nobody's work."""
    entries = read_journal(run_dir).entries
    active_s = 0.0
    for before, after in pairwise(entries):
        if before.event != "finished":
            active_s += max(0.0, after.t - before.t)
    decide_s = sum(entry.payload["decide_s"] for entry in entries if entry.event == "round")
    return Clock(entries[0].t, entries[-1].t, active_s, decide_s)
