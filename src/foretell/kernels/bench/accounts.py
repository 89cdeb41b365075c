"""What the kernel's accounting says of another process: CPU time it used, and time it waited for a core."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_RUNNING = "R"  # or waiting for a core
_STOPPED = ("T", "t")


@dataclass(frozen=True)
class Account:
    """Microseconds that one thread was on a core, and that it waited for one."""

    on_core_us: float = 0.0
    waiting_us: float = 0.0


def descent(pid: int) -> list[int]:
    """A process, its last child, that one's last child and so on: what a wrapper such as bubblewrap holds is last."""
    pids = [pid]
    while children := _children(pids[-1]):
        pids.append(children[-1])
    return pids


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


def is_held_up(pid: int, keeper: int) -> bool:
    """Whether others may keep a process from going on: its main thread runs or waits for a core, or is stopped and its
    keeper is not idle.

    A process that has stopped itself is held up by nobody once its keeper and the keeper's other children sleep or are
    stopped. False where the system does not tell.
    """
    state = _state(pid)
    if state not in _STOPPED:
        return state == _RUNNING
    family = [_state(each) for each in _children(keeper)]
    return _state(keeper) in (_RUNNING, *_STOPPED) or _RUNNING in family


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


def _children(pid: int) -> list[int]:
    """Children of a process's main thread, oldest first; none once it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _state(pid: int) -> str:
    """The system's letter for what a main thread does; `S`, for one that sleeps, where it does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "S"


def _account(path: Path) -> Account:
    try:
        on_core, waiting, *_ = path.read_text().split()
        return Account(int(on_core) / 1e3, int(waiting) / 1e3)
    except (OSError, ValueError):
        return Account()
