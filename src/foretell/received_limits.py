"""A limit on what reading something received may take, whatever it holds.

Each reader has bounds of its own. Where one is missing, or a small file means a great deal of work, this ends it: the
processor time of this process and its memory are limited while something is read, by the size of what is read.
"""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from foretell.received import BadFile

SECONDS, BYTES_PER_SECOND, MOST_SECONDS = 30.0, 100_000, 900.0
MEMORY_BYTES, MEMORY_PER_BYTE, MOST_MEMORY_BYTES = 4 << 30, 64, 32 << 30
SOURCE_MEMORY_BYTES = 512 << 20  # for tasks, which are texts: nothing is imported for them that maps much memory
PLAN_MEMORY_BYTES = 1 << 30
_AGAIN_S = 1.0  # should it have been raised where nothing can be, such as in a finalizer


class TooMuchWork(BadFile):
    """Something received that takes far longer or far more memory to read than anything of its size."""


class _Over(BaseException):
    """The time is over. No reader takes it for something that is wrong with one part of what it reads."""


def seconds_for(size: int) -> float:
    """How long something of so many bytes may take to read."""
    return min(MOST_SECONDS, SECONDS + size / BYTES_PER_SECOND)


@contextmanager
def within_limits(name: object, size: int, memory_bytes: int | None = None) -> Iterator[None]:
    """Read something of so many bytes; TooMuchWork if that takes too long or too much memory (`memory_bytes` at first).

    It holds in the main thread, the one that gets signals; elsewhere, and within another such limit, it does nothing.
    Once the time is over it is TooMuchWork that leaves, whatever a reader made of it.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield
        return
    seconds = seconds_for(size)
    memory = min(MOST_MEMORY_BYTES, (memory_bytes or MEMORY_BYTES) + MEMORY_PER_BYTE * size)

    too_long = TooMuchWork(f"{name} takes more than {seconds:.0f} s, which nothing of its size should")
    is_over, is_inside = False, True

    def over(number: int, frame: FrameType | None) -> None:
        nonlocal is_over
        is_over = True
        if is_inside:
            raise _Over

    former_handler = signal.signal(signal.SIGVTALRM, over)
    former_memory = resource.getrlimit(resource.RLIMIT_AS)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_S)
            _limit_memory(memory, former_memory)
            yield
        finally:
            is_inside = False
        if is_over:
            raise too_long
    except _Over:
        raise too_long from None
    except MemoryError:
        raise TooMuchWork(f"{name} takes more than {memory >> 20} MiB, which nothing of its size should") from None
    except Exception:
        if is_over:
            raise too_long from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, former_handler)
        resource.setrlimit(resource.RLIMIT_AS, former_memory)


def size_of(path: Path) -> int:
    """The bytes that a file has, or the files directly in a folder have together; 0 if there is none."""
    try:
        if path.is_dir():
            return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(path))
        return path.stat().st_size
    except OSError:
        return 0


def _limit_memory(more: int, former: tuple[int, int]) -> None:
    """At most so many bytes of address space beyond what the process has; nothing where the kernel does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return
    most = pages * resource.getpagesize() + more
    soft, hard = former
    if soft == resource.RLIM_INFINITY or most < soft:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
