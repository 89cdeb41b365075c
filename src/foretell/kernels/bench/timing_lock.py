"""The machine-wide lock around timing: of all benches on this machine, one times at a time."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_NAME = "foretell-cpu-timing.lock"
WAIT_S = 600.0
_POLL_S = 0.01


@contextmanager
def timing_lock(folder: Path | None = None, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the lock; yields False if it could not be had within `wait_s`, or not at all on this machine.

    The lock ends with its holder, however it ends. Every user of the machine shares one file, so a holder that hangs
    delays the others by `wait_s`, then they time without it.
    """
    fd = _open(folder or _shared_folder())
    try:
        yield fd is not None and _acquire(fd, wait_s)
    finally:
        if fd is not None:
            os.close(fd)


def _shared_folder() -> Path:
    """A folder that all users of the machine may write to."""
    system = Path("/run/lock")
    return system if os.access(system, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _open(folder: Path) -> int | None:
    path = folder / LOCK_NAME
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    # An existing file is opened without O_CREAT: in a sticky folder the kernel refuses it for another user's file.
    for extra in (0, os.O_CREAT):
        try:
            return os.open(path, flags | extra, 0o644)
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def _acquire(fd: int, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        except OSError:  # a file system without locks
            return False
