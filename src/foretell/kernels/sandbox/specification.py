"""What a sandbox is told when it starts, and the command line that starts it."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from foretell.kernels.limits import COMPILER_LIMITS, Limits
from foretell.kernels.sandbox.allowed import system_paths
from foretell.kernels.sandbox.kinds import Kind, works
from foretell.kernels.walls import launch
from foretell.kernels.walls.landlock import version

LAUNCHER = str(launch.__file__)  # imported here too, so that what it imports is there as bytecode
# Before bubblewrap starts, for its processes to be in the groups too; a group that cannot be entered is none.
_ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1/cgroup.procs" || :; shift; done 2>/dev/null; shift; exec "$@"'
_PASSED_ON = ("PATH", "LANG")
_PASSED_ON_FOR_GPUS = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")


def scrubbed_environment() -> dict[str, str]:
    """No tokens, no keys, no home: only what finding and running a tool needs."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    account = {"HOME": "/nonexistent", "USER": "foretell", "LOGNAME": "foretell"}
    return kept | account | {"LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"}


def gpu_environment() -> dict[str, str]:
    """Which GPUs this process may use, and where their driver lies."""
    return {name: os.environ[name] for name in _PASSED_ON_FOR_GPUS if name in os.environ}


@dataclass(frozen=True)
class Specification:
    """Everything about one sandbox but its kind.

    `readable` and `writable` are host paths that are the same inside; a server may read those in `supervised` too, and
    its jobs may not if the kernel has Landlock. `command` and `directory` are for a command, `server` is for a fork
    server; `gpus` are devices that it may use. `report` and `control` are descriptors that it inherits; it ends once
    their other ends are closed.
    """

    limits: Limits
    readable: tuple[str, ...]
    writable: tuple[str, ...] = ()
    supervised: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=scrubbed_environment)
    command: tuple[str, ...] = ()
    directory: str = "/"
    server: Mapping[str, Any] | None = None
    gpus: tuple[str, ...] = ()
    report: int | None = None
    control: int | None = None
    cgroups: tuple[str, ...] = ()
    dies_with_parent: bool = False

    def to_bytes(self, kind: Kind | None) -> bytes:
        walls = {
            "namespaces": kind in (Kind.BUBBLEWRAP, Kind.NAMESPACES),
            "landlock": kind is not None and version() > 0,
            "seccomp": kind is not None,
            "readable": self.readable,
            "writable": self.writable,
            "gpus": self.gpus,
            "own_users": kind in (Kind.BUBBLEWRAP, Kind.NAMESPACES),
        }
        told = {
            "make_namespaces": kind is Kind.NAMESPACES,
            "supervised": self.supervised,
            "walls": walls,
            "limits": asdict(self.limits),
            "environment": dict(self.environment),
            "command": self.command,
            "directory": self.directory,
            "server": None if self.server is None else dict(self.server),
            "report": self.report,
            "control": self.control,
        }
        return marshal.dumps(told)


def command_line(specification: Specification, kind: Kind | None) -> tuple[list[str], int]:
    """The command that starts such a sandbox, and a descriptor for it to inherit and for the caller to close."""
    with tempfile.TemporaryFile() as file:
        file.write(specification.to_bytes(kind))
        file.seek(0)
        descriptor = os.dup(file.fileno())
    launcher = [sys.executable, "-I", "-S", "-B", LAUNCHER, str(descriptor)]
    wrapper = _bubblewrap(specification) if kind is Kind.BUBBLEWRAP else []
    groups = ["sh", "-c", _ENTER, "sh", *specification.cgroups, "--"] if specification.cgroups else []
    return [*groups, *wrapper, *launcher], descriptor


def bubblewrapped(command: Sequence[str], readable: Sequence[Path]) -> list[str]:
    """A command that walls itself in, with bubblewrap around it where that works: no launcher, no limits."""
    if not works(Kind.BUBBLEWRAP):
        return list(command)
    paths = (*system_paths(), *(os.path.realpath(path) for path in readable))
    return [*_bubblewrap(Specification(COMPILER_LIMITS, paths, dies_with_parent=True)), *command]


def _bubblewrap(specification: Specification) -> list[str]:
    # All namespaces; those that cannot be had (of control groups, say) are left out.
    command = ["bwrap", "--unshare-all", "--new-session", "--cap-drop", "ALL", "--dev", "/dev", "--proc", "/proc"]
    if specification.server is None and _bubblewrap_takes_sizes():
        command += ["--size", str(specification.limits.scratch_bytes)]
    command += ["--tmpfs", "/tmp"]
    if specification.dies_with_parent:
        command.append("--die-with-parent")
    for path in (*specification.readable, *specification.supervised):
        command += _bound("--ro-bind", path)
    for path in specification.writable:
        command += _bound("--bind", path)
    for path in specification.gpus:
        command += _bound("--dev-bind", path)
    return [*command, "--chdir", "/", "--"]


@cache
def _bubblewrap_takes_sizes() -> bool:
    """Whether it is version 0.7 or newer."""
    try:
        done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, timeout=10.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "--size" in done.stdout


def _bound(option: str, path: str) -> Sequence[str]:
    if os.path.islink(path):
        return ("--symlink", os.readlink(path), path)
    return (option, path, path)
