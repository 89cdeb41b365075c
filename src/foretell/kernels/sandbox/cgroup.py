"""Control groups for a sandbox, where this user may make them: memory and processes bounded as a whole.

Version 2 with its one tree, or version 1 with a tree for each controller. Root's processes are bounded by nothing else.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids")
_REMOVE_TIMEOUT_S = 1.0
_OWN_PROCESSES = 8  # of the sandbox itself
_numbers = itertools.count()


@cache
def parents() -> dict[str, Path]:
    """The group of each controller that groups can be made in; none for a controller that this user may not use."""
    try:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return {}
    own = {name: path for _, names, path in lines for name in names.split(",")}
    found = {}
    for controller in _CONTROLLERS:
        if controller in own:
            group = _MOUNT / controller / own[controller].lstrip("/")
        elif "" in own and _enabled(_MOUNT / own[""].lstrip("/"), controller):
            group = _MOUNT / own[""].lstrip("/")
        else:
            continue
        if os.access(group, os.W_OK):
            found[controller] = group
    return found


def _enabled(group: Path, controller: str) -> bool:
    """Whether children of a group of version 2 have the controller, once asked for."""
    control = group / "cgroup.subtree_control"
    with suppress(OSError):
        control.write_text(f"+{controller}")
    try:
        return controller in control.read_text().split()
    except OSError:
        return False


def make(processes: int, memory_bytes: int | None = None) -> list[Path]:
    """New groups with these limits, for a sandbox to enter; fewer, or none, where there can be none."""
    name = f"foretell-{os.getpid()}-{next(_numbers)}"
    made: list[Path] = []
    for controller, above in parents().items():
        if controller == "memory" and memory_bytes is None:
            continue
        group = above / name
        try:
            group.mkdir(exist_ok=True)
            if controller == "pids":
                (group / "pids.max").write_text(str(processes + _OWN_PROCESSES))
            else:
                version_2 = (group / "memory.max").exists()
                (group / ("memory.max" if version_2 else "memory.limit_in_bytes")).write_text(str(memory_bytes))
                with suppress(OSError):  # version 2 of newer kernels: all of a job ends, not the process that asked
                    (group / "memory.oom.group").write_text("1")
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        made.append(group)
    return list(dict.fromkeys(made))


class Groups:
    """The control groups of one job, which its supervisor enters by descriptors; none where there can be none."""

    def __init__(self, threads: int, memory_bytes: int | None = None, wanted: bool = True) -> None:
        self._groups = make(threads, memory_bytes) if wanted else []

    @contextmanager
    def doors(self) -> Iterator[list[int]]:
        """Descriptors of the files by which a process enters the groups."""
        opened: list[int] = []
        try:
            for group in self._groups:
                with suppress(OSError):
                    opened.append(os.open(group / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            yield opened
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel ended a process in the groups for want of memory."""
        for group in self._groups:
            for name in ("memory.events", "memory.oom_control"):  # of version 2 and 1
                with suppress(OSError, ValueError, IndexError):
                    counts = [line.split() for line in (group / name).read_text().splitlines()]
                    if any(key == "oom_kill" and int(count) > 0 for key, count in counts):
                        return True
        return False

    def remove(self) -> None:
        """Kill whatever is left in the groups, and remove them."""
        groups, self._groups = self._groups, []
        remove(groups)

    def __del__(self) -> None:
        self.remove()


def remove(groups: Sequence[Path]) -> None:
    """Kill whatever is left in the groups, and remove them."""
    deadline = time.monotonic() + _REMOVE_TIMEOUT_S
    for group in groups:
        while group.exists():
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")  # of version 2; with version 1 nothing is left by now
            try:
                group.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
