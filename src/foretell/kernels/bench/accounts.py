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
    while True:
        try:
            children = Path(f"/proc/{pids[-1]}/task/{pids[-1]}/children").read_text().split()
        except OSError:
            return pids
        if not children:
            return pids
        pids.append(int(children[-1]))


def cpu_s(pid: int) -> float:
    """CPU seconds used by all threads of a process; 0 once it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # CLOCK_PROCESS_CPUTIME_ID of another process (clock_getcpuclockid)
    except OSError:
        return 0.0


def main_thread_cpu_s(pid: int) -> float:
    """CPU seconds used by the main thread; 0 where the system does not tell."""
    return _account(Path(f"/proc/{pid}/schedstat")).on_core_us * 1e-6


def main_thread_sleeps(pid: int) -> bool:
    """Whether the main thread neither runs, nor waits for a core, nor is stopped: nobody else holds it up.

    True where the system does not tell.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "RTt"
    except (OSError, IndexError):
        return True


def threads(pid: int) -> dict[str, Account]:
    """The account of each thread of a process so far, exact while it is stopped; empty where the system tells none."""
    try:
        found = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return {}
    return {thread.name: _account(thread / "schedstat") for thread in found}


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
