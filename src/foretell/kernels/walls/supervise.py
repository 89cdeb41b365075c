"""Watching over one confined process and what it starts: how it ended, whether it took too much, and its end for all.

The supervisor is trusted code of the sandbox. In a process namespace it is the first process, so that everything there
dies with it; without one all that it watches is one process group, which foreign code cannot leave.
"""

from __future__ import annotations

import os
import select
import time

from foretell.kernels.walls.room import fits

MYPY = False
if MYPY:
    from collections.abc import Iterator, Sequence
    from typing import Any

LOOK_S = 0.1
LONGEST_END_S = 5.0
_KILL = 9  # the module of signals takes longer to import than all of this
_ZOMBIE, _DEAD = b"Z", b"X"
_THREADS_PER_PROCESS = 8  # on average, of the most processes that there may be
_LEAST_PAUSE = 10  # how many times as long as looking at the files took nobody looks at them again
_COUNTED = (b"RssAnon:", b"VmPTE:", b"VmSwap:")
_CLOSED = select.POLLHUP | select.POLLRDHUP | select.POLLERR


def supervise(
    child: int,
    most_processes: int,
    most_bytes: int,
    namespace: bool,
    lifelines: Sequence[int],
    room: tuple[str, int] | None = None,
) -> dict[str, Any]:
    """Wait for a child and end all that it started, at once if one of the lifelines is closed at its other end.

    Returns `status` as `os.waitstatus_to_exitcode` gives it, the `reason` if it was ended ("memory", "processes",
    "room" or "abandoned"), and `cpu_s`, what it and those of its children that it waited for used.

    Args:
        child: A child of this process; without a namespace the leader of a process group.
        most_processes: It is ended if it and its children become more than these.
        most_bytes: Memory of their own that they may use together.
        namespace: Whether this is the first process of a process namespace.
        lifelines: Descriptors whose other ends those hold for whom it is done.
        room: A folder whose size nothing else bounds, and how many bytes its files may take together.
    """
    handle = os.pidfd_open(child) if hasattr(os, "pidfd_open") else -1
    waiter = select.poll()
    if handle >= 0:
        waiter.register(handle, select.POLLIN)
    for lifeline in lifelines:
        waiter.register(lifeline, select.POLLRDHUP)
    reason = ""
    look_again = 0.0
    while not reason:
        ready = dict(waiter.poll(LOOK_S * 1e3))
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        if any(ready.get(lifeline, 0) & _CLOSED for lifeline in lifelines):
            reason = "abandoned"
        else:
            reason = _excess(child, most_processes, most_bytes, namespace)
            started = time.monotonic()
            if not reason and room is not None and started >= look_again:
                pids = [pid for pid, _ in _members(child, namespace)]
                reason = "" if fits(*room, pids) else "room"
                look_again = started + _LEAST_PAUSE * (time.monotonic() - started)
    if handle >= 0:
        os.close(handle)
    if reason:
        _kill(child, namespace)
    _, status, used = os.wait4(child, 0)
    end_all(child, namespace)
    code = os.waitstatus_to_exitcode(status)
    return {"status": code, "reason": reason, "cpu_s": used.ru_utime + used.ru_stime}


def end_all(child: int, namespace: bool) -> None:
    """Kill what is left, and wait until it is gone."""
    deadline = time.monotonic() + LONGEST_END_S
    while time.monotonic() < deadline:
        _kill(child, namespace)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass  # none left to wait for
        if not any(True for _ in _members(child, namespace)):
            return
        time.sleep(0.001)


def _kill(child: int, namespace: bool) -> None:
    targets = [(os.kill, -1)] if namespace else [(os.killpg, child), (os.kill, child)]
    for send, target in targets:  # to all but the first process, which this is; or to a group and its leader
        try:
            send(target, _KILL)
        except (ProcessLookupError, PermissionError):
            continue  # gone already


def _excess(child: int, most_processes: int, most_bytes: int, namespace: bool) -> str:
    count = threads = size_bytes = 0
    for pid, its_threads in _members(child, namespace):
        count += 1
        threads += its_threads
        size_bytes += _own_bytes(pid)
    if count > most_processes or threads > _THREADS_PER_PROCESS * most_processes:
        return "processes"
    return "memory" if size_bytes > most_bytes else ""


def _members(child: int, namespace: bool) -> Iterator[tuple[int, int]]:
    """Processes of the namespace but this one, or of the child's group, and how many threads each has.

    Those that have ended are not among them; one whose first thread has ended while others go on is.
    """
    own = os.getpid()
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdecimal() and int(name) != own:
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            state, threads = fields[0], int(fields[17])
            ended = state == _DEAD or (state == _ZOMBIE and threads <= 1)
            if not ended and (namespace or int(fields[2]) == child):
                yield int(name), threads


def _own_bytes(pid: int) -> int:
    """Memory that the process does not share with a file, and the tables that map it."""
    found = _counted_bytes(f"/proc/{pid}/status")
    if found:
        return found
    try:  # its first thread has ended; the others tell
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0
    return max((_counted_bytes(f"/proc/{pid}/task/{thread}/status") for thread in threads), default=0)


def _counted_bytes(path: str) -> int:
    """RssAnon, VmPTE and VmSwap of a file of /proc, which gives them in KiB."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_COUNTED))
