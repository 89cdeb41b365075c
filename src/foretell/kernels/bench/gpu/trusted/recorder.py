"""Recordings for the judge, made ahead of time on the CPU's cores while the device measures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from foretell.kernels.device import Device
from foretell.kernels.program import Program
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task

# For every workload of a task, up to the first recording that is refused.
Record = Callable[[Task, "str | None", str, Device], list[Recording]]
_Key = tuple[str, "str | None", str]
MOST_AHEAD_BYTES = 1 << 30  # of all recordings that wait: what is beyond is made again, mostly from the user's cache


class Recorder:
    """Records behind the sandbox's walls, several candidates at a time.

    Args:
        record: Makes the recordings of one candidate, in a process of its own.
        threads: How many are recorded at a time.
    """

    def __init__(self, record: Record, threads: int) -> None:
        self._record = record
        self._pool = ThreadPoolExecutor(threads, "recorder")
        self._lock = threading.Lock()
        self._expected: dict[_Key, Future[list[Recording] | None]] = {}
        self._waiting_bytes: dict[_Key, int] = {}

    def expect(self, task: Task, source: str | None, language: str, device: Device) -> Future[list[Recording] | None]:
        """Begin to record a candidate, or the reference if there is no source, for every workload of a task.

        Raises RuntimeError if it is closed.
        """
        key = (task.identity, source, language)
        with self._lock:
            if key not in self._expected:
                self._expected[key] = self._pool.submit(self._ahead, task, source, language, device)
            return self._expected[key]

    def _ahead(self, task: Task, source: str | None, language: str, device: Device) -> list[Recording] | None:
        """The recordings; None where too many wait already, so that these are not kept."""
        recordings = self._record(task, source, language, device)
        key = (task.identity, source, language)
        with self._lock:
            if key in self._expected:  # not asked for yet
                size = bytes_in(recordings)
                if sum(self._waiting_bytes.values()) + size > MOST_AHEAD_BYTES:
                    return None
                self._waiting_bytes[key] = size
        return recordings

    def __call__(self, task: Task, source: str | None, language: str, device: Device) -> list[Recording]:
        """The recordings, made now unless they were expected."""
        key = (task.identity, source, language)
        with self._lock:
            expected = self._expected.pop(key, None)
            self._waiting_bytes.pop(key, None)
        recordings = expected.result() if expected is not None else None
        return self._record(task, source, language, device) if recordings is None else recordings

    def forget(self, identity: str) -> None:
        """Drop what was expected for the candidates of a task and not asked for."""
        with self._lock:
            for key in [key for key in self._expected if key[0] == identity and key[1] is not None]:
                self._expected.pop(key).cancel()
                self._waiting_bytes.pop(key, None)

    def close(self) -> None:
        """Make no more recordings; what is under way ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def bytes_in(recordings: Sequence[Recording]) -> int:
    """How much memory recordings take, roughly: binaries, and what the host copies or passes."""
    programs = [program for one in recordings for program in (one.program, *one.alternatives) if program is not None]
    return sum(map(_bytes_of, programs))


def _bytes_of(program: Program) -> int:
    steps = (*program.setup, *program.run)
    parts = [getattr(step, name, None) for step in steps for name in ("source", "arguments", "pattern")]
    images = sum(len(image.cubin or b"") + len(image.ptx) for image in program.images)
    return images + sum(len(part) for part in parts if isinstance(part, bytes))
