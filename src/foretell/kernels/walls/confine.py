"""The last step before foreign code runs: limits, no powers, files by allow-list, no forbidden system calls."""

from __future__ import annotations

import math
import os
import resource

from foretell.kernels.walls import landlock, seccomp
from foretell.kernels.walls.namespaces import devices
from foretell.kernels.walls.syscalls import PR_SET_NO_NEW_PRIVS, drop_capabilities, prctl

MYPY = False
if MYPY:
    from collections.abc import Mapping
    from typing import Any

# What may be read of /proc besides: what is said of the machine and of the process itself. Namespaces do not divide the
# rest of it, such as the names of the user's keys.
_OF_PROC = (
    *(f"/proc/self/{name}" for name in (
        "auxv", "cmdline", "comm", "exe", "fd", "fdinfo", "limits", "maps", "smaps", "stat", "statm", "status",
    )),
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory",
    "/proc/driver/nvidia", "/proc/devices",
)  # fmt: skip
_ACCOUNTS = ("/etc/passwd", "/etc/group")  # in a file system of one's own they hold one account
_OF_DRIVER = ("/proc/self",)  # of this very process: CUDA's driver names its threads there
_MORE_PROCESSES = 4096


class Walls:
    """What holds a process in, and what it may reach of files.

    `namespaces`: it has its own mounts and network. `own_users`: all processes of its user namespace are its own.
    `alone`: so are all of its process namespace. `own_files`: so are all files that it can name and may write.
    `landlock`, `seccomp`: the kernel has them. `gpus`: devices to use.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.namespaces: bool = data["namespaces"]
        self.landlock: bool = data["landlock"]
        self.seccomp: bool = data["seccomp"]
        self.readable: tuple[str, ...] = tuple(data["readable"])
        self.writable: tuple[str, ...] = tuple(data["writable"])
        self.gpus: tuple[str, ...] = tuple(data["gpus"])
        self.own_users: bool = data["own_users"]
        self.alone = self.own_files = False

    def around(self, writable: tuple[str, ...], alone: bool, own_users: bool, own_files: bool) -> Walls:
        """The same walls for one process: with more that it may write."""
        walls = Walls(vars(self))
        walls.writable, walls.alone, walls.own_users = (*self.writable, *writable), alone, own_users
        walls.own_files = own_files
        return walls


def confine(walls: Walls, limits: Mapping[str, Any]) -> None:
    """Wall in this process and all it starts, for good."""
    set_limits(limits, walls.own_users)
    if not (walls.namespaces or walls.landlock or walls.seccomp):
        return  # the user said that none is needed
    drop_capabilities()
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if walls.landlock:
        own = _OF_DRIVER if walls.gpus else ()
        accounts = _ACCOUNTS if walls.namespaces else ()
        readable, writable = (*walls.readable, *_OF_PROC, *accounts), (*walls.writable, *own)
        landlock.restrict(readable, writable, devices(walls.gpus), walls.gpus)
    if walls.seccomp:
        scoped = walls.landlock and landlock.version() >= landlock.SCOPES_SIGNALS
        seccomp.install(walls.own_files, walls.alone, scoped, os.getpid(), gpu=bool(walls.gpus) and scoped)


def set_limits(limits: Mapping[str, Any], own_users: bool) -> None:
    """Resource limits of this process.

    The number of processes is one of the user's: exact only if the process has a user namespace of its own. Elsewhere
    it bounds what a fork bomb does before the supervisor has counted; root's is bounded by control groups alone.
    """
    cpu_s = math.ceil(limits["cpu_s"])
    _limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _limit(resource.RLIMIT_AS, limits["address_bytes"] + _mapped_bytes())
    _limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, limits["open_files"])
    most = limits["processes"] if own_users else _users_processes() + _MORE_PROCESSES
    _limit(resource.RLIMIT_NPROC, most)
    if limits["nice"]:
        os.nice(limits["nice"])


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, or as much of it as this process may set."""
    most = resource.getrlimit(kind)[1]
    wanted = (soft, soft if hard is None else hard)
    if most != resource.RLIM_INFINITY:
        wanted = (min(wanted[0], most), min(wanted[1], most))
    resource.setrlimit(kind, wanted)


def _users_processes() -> int:
    """How many threads this user has, as far as can be seen from here."""
    own, count = os.getuid(), 0
    try:
        names = os.listdir("/proc")
    except OSError:
        return 0
    for name in names:
        if name.isdecimal():
            try:
                if os.stat(f"/proc/{name}").st_uid == own:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue  # it ended meanwhile
    return count


def _mapped_bytes() -> int:
    """Address space that is taken already: a fork of a process with torch imported starts with gigabytes of it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
