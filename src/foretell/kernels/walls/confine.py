"""The last step before foreign code runs: limits, no powers, files by allow-list, no forbidden system calls."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foretell.kernels.walls import landlock, seccomp
from foretell.kernels.walls.namespaces import DEVICES
from foretell.kernels.walls.syscalls import PR_SET_NO_NEW_PRIVS, drop_capabilities, prctl

# What may be read besides: of one's own /proc and /etc, or else what is said of the machine and of the process itself.
_OWN = {
    True: ("/proc", "/etc/passwd", "/etc/group"),
    False: ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory"),
}


@dataclass(frozen=True)
class Walls:
    """What holds a process in, and what it may reach of files.

    `namespaces`: it has its own mounts and network. `own_users`: all processes of its user namespace are its own.
    `alone`: so are all of its process namespace.
    """

    namespaces: bool
    landlock: bool
    seccomp: bool
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    own_users: bool = False
    alone: bool = False

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Walls:
        return Walls(**{**data, "readable": tuple(data["readable"]), "writable": tuple(data["writable"])})


def confine(walls: Walls, limits: Mapping[str, Any]) -> None:
    """Wall in this process and all it starts, for good."""
    set_limits(limits, walls.own_users)
    if not (walls.namespaces or walls.landlock or walls.seccomp):
        return  # the user said that none is needed
    drop_capabilities()
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if walls.landlock:
        landlock.restrict((*walls.readable, *_OWN[walls.namespaces]), walls.writable, DEVICES)
    if walls.seccomp:
        scoped = walls.landlock and landlock.version() >= landlock.SCOPES_SIGNALS
        seccomp.install(walls.namespaces, walls.alone, scoped, os.getpid())


def set_limits(limits: Mapping[str, Any], own_users: bool) -> None:
    """Resource limits of this process. The number of processes is one of the user's, so it is set only where the
    process has a user namespace of its own; elsewhere, and for root, the supervisor counts.
    """
    cpu_s = math.ceil(limits["cpu_s"])
    _limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _limit(resource.RLIMIT_AS, limits["address_bytes"] + _mapped_bytes())
    _limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, limits["open_files"])
    if own_users and os.getuid() != 0:
        _limit(resource.RLIMIT_NPROC, limits["processes"])
    if limits["nice"]:
        os.nice(limits["nice"])


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, or as much of it as this process may set."""
    most = resource.getrlimit(kind)[1]
    wanted = (soft, soft if hard is None else hard)
    if most != resource.RLIM_INFINITY:
        wanted = (min(wanted[0], most), min(wanted[1], most))
    resource.setrlimit(kind, wanted)


def _mapped_bytes() -> int:
    """Address space that is taken already: a fork of a process with torch imported starts with gigabytes of it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
