"""What the kernel's accounting says of another process: CPU time it used, and time it waited for a core."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Account:
    """Microseconds that one thread was on a core, and that it waited for one."""

    on_core_us: float = 0.0
    waiting_us: float = 0.0


def descent(pid: int) -> list[int]:
    """A process, its last child, that one's last child and so on: what a wrapper such as bubblewrap holds is last."""
    pids = [pid]
    while below := children(pids[-1]):
        pids.append(below[-1])
    return pids


def children(pid: int) -> list[int]:
    """Children of a process's main thread, oldest first; none once it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def cpu_s(pid: int) -> float:
    """CPU seconds used by all threads of a process; 0 once it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # CLOCK_PROCESS_CPUTIME_ID of another process (clock_getcpuclockid)
    except OSError:
        return 0.0


def main_thread_cpu_s(pid: int) -> float:
    """CPU seconds used by the main thread; 0 where the system does not tell."""
    return _account(Path(f"/proc/{pid}/schedstat")).on_core_us * 1e-6


def main_thread_waited_s(pid: int) -> float:
    """Seconds that the main thread waited for a core; 0 where the system does not tell."""
    return _account(Path(f"/proc/{pid}/schedstat")).waiting_us * 1e-6


def threads(pid: int) -> dict[str, Account]:
    """The account of each thread of a process so far, exact while it is stopped; empty where the system tells none."""
    try:
        found = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return {}
    return {thread.name: _account(thread / "schedstat") for thread in found}


def count_threads(pid: int) -> int:
    """How many threads a process has; 0 once it is gone."""
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return 0


def held_up_s(before: Mapping[str, Account], after: Mapping[str, Account], cpu_s: float, cores: int) -> float:
    """Seconds for which others kept a process from going on, between two looks: what its most delayed thread waited.

    What other threads of its own used meanwhile, of `cpu_s` that all used together, it may have waited for: their part
    of the `cores` is taken off. Time asleep is not waiting, however often a thread wakes up.
    """
    longest_s = 0.0
    for name, late in after.items():
        early = before.get(name, Account())
        waited_s, used_s = (late.waiting_us - early.waiting_us) * 1e-6, (late.on_core_us - early.on_core_us) * 1e-6
        longest_s = max(longest_s, waited_s - max(0.0, cpu_s - used_s) / cores)
    return longest_s


def since(before: Mapping[str, Account], after: Mapping[str, Account]) -> list[Account]:
    """What each thread used between two looks; an empty account if there is none. A thread that ended is not in it."""
    spent = []
    for name, late in after.items():
        early = before.get(name, Account())
        spent.append(Account(late.on_core_us - early.on_core_us, late.waiting_us - early.waiting_us))
    return spent or [Account()]


def _account(path: Path) -> Account:
    try:
        on_core, waiting, *_ = path.read_text().split()
        return Account(int(on_core) / 1e3, int(waiting) / 1e3)
    except (OSError, ValueError):
        return Account()
