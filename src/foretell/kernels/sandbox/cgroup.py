"""Control groups (version 2) for a sandbox, where this user may make them: memory and processes bounded as a whole."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from foretell.kernels.profiles import Limits

_MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
_CONTROLLERS = ("memory", "pids")
_REMOVE_TIMEOUT_S = 1.0
_numbers = itertools.count()


@cache
def parent() -> Path | None:
    """The group that groups can be made in; None where there is none with the controllers, or no right to."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    own = next((line[3:] for line in lines if line.startswith("0::")), None)
    for mount in _MOUNTS:
        if own is None or not (mount / "cgroup.controllers").exists():
            continue
        group = mount / own.lstrip("/")
        if os.access(group, os.W_OK) and _enabled(group):
            return group
    return None


def _enabled(group: Path) -> bool:
    """Whether children of the group have the controllers, once asked for."""
    control = group / "cgroup.subtree_control"
    with suppress(OSError):
        control.write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
    try:
        return set(_CONTROLLERS) <= set(control.read_text().split())
    except OSError:
        return False


def make(limits: Limits) -> Path | None:
    """A new group with these limits, for a sandbox to enter; None where there can be none."""
    above = parent()
    if above is None:
        return None
    group = above / f"foretell-{os.getpid()}-{next(_numbers)}"
    try:
        group.mkdir()
        (group / "memory.max").write_text(str(limits.memory_bytes + limits.scratch_bytes))
        (group / "pids.max").write_text(str(limits.processes + 8))  # the sandbox's own processes
        with suppress(OSError):
            (group / "memory.swap.max").write_text("0")
    except OSError:
        remove(group)
        return None
    return group


def remove(group: Path | None) -> None:
    """Kill whatever is left in the group, and remove it."""
    if group is None:
        return
    deadline = time.monotonic() + _REMOVE_TIMEOUT_S
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            (group / "cgroup.kill").write_text("1")
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.01)
