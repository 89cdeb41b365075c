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
QUEUE_NAME = "foretell-cpu-timing.queue"
WAIT_S = 600.0
_POLL_S = 0.01


@contextmanager
def timing_lock(folder: Path | None = None, wait_s: float = WAIT_S) -> Iterator[bool]:
    """Hold the lock; yields False if it could not be had within `wait_s`, or not at all on this machine.

    The lock ends with its holder, however it ends. Every user of the machine shares one file, so a holder that hangs
    delays the others by `wait_s`, then they time without it.
    """
    place = folder or _shared_folder()
    deadline = time.monotonic() + wait_s
    lock, queue = _open(place / LOCK_NAME), _open(place / QUEUE_NAME)
    try:
        # Whoever is first in the queue is next: a bench that has just timed cannot take the lock again before it.
        try:
            held = lock is not None and queue is not None and _acquire(queue, deadline) and _acquire(lock, deadline)
        finally:
            if queue is not None:
                os.close(queue)
        yield held
    finally:
        if lock is not None:
            os.close(lock)


def _shared_folder() -> Path:
    """A folder that all users of the machine may write to."""
    system = Path("/run/lock")
    return system if os.access(system, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _open(path: Path) -> int | None:
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


def _acquire(fd: int, deadline: float) -> bool:
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
