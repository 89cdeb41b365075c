"""Recordings for the judge, made ahead of time on the CPU's cores while the device measures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from foretell.kernels.device import Device
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task

# For every workload of a task, up to the first recording that is refused.
Record = Callable[[Task, "str | None", str, Device], list[Recording]]
_Key = tuple[str, "str | None", str]


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
        self._expected: dict[_Key, Future[list[Recording]]] = {}

    def expect(self, task: Task, source: str | None, language: str, device: Device) -> Future[list[Recording]]:
        """Begin to record a candidate, or the reference if there is no source, for every workload of a task.

        Raises RuntimeError if it is closed.
        """
        key = (task.identity, source, language)
        with self._lock:
            if key not in self._expected:
                self._expected[key] = self._pool.submit(self._record, task, source, language, device)
            return self._expected[key]

    def __call__(self, task: Task, source: str | None, language: str, device: Device) -> list[Recording]:
        """The recordings, made now unless they were expected."""
        with self._lock:
            expected = self._expected.pop((task.identity, source, language), None)
        return expected.result() if expected is not None else self._record(task, source, language, device)

    def forget(self, identity: str) -> None:
        """Drop what was expected for the candidates of a task and not asked for."""
        with self._lock:
            for key in [key for key in self._expected if key[0] == identity and key[1] is not None]:
                self._expected.pop(key).cancel()

    def close(self) -> None:
        """Make no more recordings; what is under way ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
