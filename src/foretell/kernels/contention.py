"""Contention: how much of this machine's processors other processes use, read from /proc.

Only the processors this process may run on count. Time that a hypervisor gave to other guests ("steal") counts as use
by others. Where /proc tells nothing, nothing is claimed: `others_share` is then 0.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_IDLE_COLUMNS = (3, 4)  # idle, iowait
_COUNTED_COLUMNS = 8  # user nice system idle iowait irq softirq steal; guest time is part of user time


def usable_cores() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> float:
    """Mean number of runnable processes over the last minute; 0 where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return 0.0


class Watch:
    """Measures, from its creation on, the share of the processors that other processes use.

    Args:
        own_cpu_s: CPU seconds that count as one's own: this process and the workers it times.
    """

    def __init__(self, own_cpu_s: Callable[[], float] = time.process_time) -> None:
        self._own_cpu_s = own_cpu_s
        self.restart()

    def restart(self) -> None:
        self._started_s = time.perf_counter()
        self._busy_before_s = _busy_s()
        self._own_before_s = self._own_cpu_s()

    def others_share(self) -> float:
        """Share of the processors' time, 0 to 1, that went to other processes since the start."""
        busy_s = _busy_s()
        elapsed_s = time.perf_counter() - self._started_s
        if busy_s is None or self._busy_before_s is None or elapsed_s <= 0:
            return 0.0
        others_s = busy_s - self._busy_before_s - (self._own_cpu_s() - self._own_before_s)
        return min(1.0, max(0.0, others_s / (elapsed_s * usable_cores())))


def _busy_s() -> float | None:
    """Seconds that the usable processors were busy or stolen since boot; None where /proc does not tell."""
    try:
        text = Path("/proc/stat").read_text()
    except OSError:
        return None
    usable = {f"cpu{n}" for n in os.sched_getaffinity(0)}
    ticks = 0
    for line in text.splitlines():
        name, *columns = line.split()
        if name in usable:
            ticks += sum(int(c) for i, c in enumerate(columns[:_COUNTED_COLUMNS]) if i not in _IDLE_COLUMNS)
    return ticks * _TICK_S
