"""What the kernel's accounting says of another process: CPU time it used, and time it waited for a core."""

from __future__ import annotations

import time
from pathlib import Path


def innermost(pid: int) -> int:
    """The process at the end of a chain of single children: what runs inside a wrapper such as bubblewrap."""
    while True:
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return pid
        if not children:
            return pid
        pid = int(children[-1])


def cpu_s(pid: int) -> float:
    """CPU seconds used by all threads of a process; 0 once it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # CLOCK_PROCESS_CPUTIME_ID of another process (clock_getcpuclockid)
    except OSError:
        return 0.0


def main_thread_cpu_s(pid: int) -> float:
    """CPU seconds used by the main thread; 0 where the system does not tell."""
    return _schedstat(Path(f"/proc/{pid}/schedstat"))[0] * 1e-9


def is_runnable(pid: int) -> bool:
    """Whether the main thread runs or waits for a core, rather than sleeping; False where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    except (OSError, IndexError):
        return False


def waits_us(pid: int) -> dict[str, float]:
    """Microseconds that each thread of a process has waited for a core so far; empty where the system does not tell."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return {}
    return {thread.name: _schedstat(thread / "schedstat")[1] / 1e3 for thread in threads}


def _schedstat(path: Path) -> tuple[int, int]:
    """(nanoseconds on a core, nanoseconds waiting for one), zeros where unknown."""
    try:
        on_core, waiting, *_ = path.read_text().split()
        return int(on_core), int(waiting)
    except (OSError, ValueError):
        return 0, 0
