"""Which sandbox this machine has: found out by trying, once per process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from enum import StrEnum
from functools import cache

from foretell.kernels import walls
from foretell.kernels.walls import landlock, seccomp

UNSAFE_VARIABLE = "FORETELL_UNSAFE"
KIND_VARIABLE = "FORETELL_SANDBOX"
_TRIAL_TIMEOUT_S = 60  # on a machine that is not busy it takes a twentieth of a second


class Kind(StrEnum):
    """How foreign code is walled in. All of them refuse system calls by seccomp; the first two add Landlock if the
    kernel has it.
    """

    BUBBLEWRAP = "bubblewrap"  # namespaces and mounts by bubblewrap
    NAMESPACES = "namespaces"  # the same, made here
    LANDLOCK = "landlock"  # no namespaces: files by Landlock, everything else by seccomp and process groups


class NoSandbox(RuntimeError):
    """Foreign code was not run because nothing walls it in here."""

    what = "no sandbox works on this machine, so foreign code is not run"
    expected = "Linux with bubblewrap, user namespaces or Landlock (5.13 or newer) on x86_64 or aarch64"
    do = f"install bubblewrap; or trust the code and say so: --unsafe, or {UNSAFE_VARIABLE}=1"

    def __init__(self) -> None:
        super().__init__(f"{self.what}: expected {self.expected}; {self.do}")


def unsafe() -> bool:
    """Whether the user said that foreign code may run without a sandbox."""
    return os.environ.get(UNSAFE_VARIABLE, "") not in ("", "0")


def available(server: bool = False, gpu: bool = False) -> Kind | None:
    """The sandbox for commands or, with `server`, for a fork server, whose jobs have namespaces of their own only in
    the one made here; with `gpu` one in which drivers find everything at its place comes first. None where there is
    none. The variable FORETELL_SANDBOX names the only one to be considered.
    """
    order = [Kind.BUBBLEWRAP, Kind.NAMESPACES, Kind.LANDLOCK]
    if server:
        order = [Kind.NAMESPACES, Kind.BUBBLEWRAP, Kind.LANDLOCK]
    if gpu:
        order = [Kind.LANDLOCK, Kind.NAMESPACES, Kind.BUBBLEWRAP]
    if named := os.environ.get(KIND_VARIABLE):
        order = [kind for kind in order if kind == named]
    return next((kind for kind in order if works(kind)), None)


def required(server: bool = False, gpu: bool = False) -> Kind | None:
    """As `available`; None only if the user said `unsafe`, or within a sandbox: what is started there is held by its
    walls. Raises NoSandbox otherwise.
    """
    if walls.is_inside:
        return None
    kind = available(server, gpu)
    if kind is None and not unsafe():
        raise NoSandbox
    return kind


@cache
def works(kind: Kind) -> bool:
    """Whether a sandbox of this kind can be made here."""
    if sys.platform != "linux" or not seccomp.is_supported():
        return False
    match kind:
        case Kind.BUBBLEWRAP:
            return shutil.which("bwrap") is not None and _runs(kind)
        case Kind.NAMESPACES:
            return _runs(kind)
        case Kind.LANDLOCK:
            return landlock.version() > 0 and _runs(kind)


def _runs(kind: Kind) -> bool:
    from foretell.kernels.sandbox.command import start

    try:
        with start(["true"], kind=kind) as process:
            return process.wait(_TRIAL_TIMEOUT_S) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
