"""Recordings for the judge, made ahead of time on the CPU's cores while the device measures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from foretell.kernels.device import Device
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task, Workload

Record = Callable[[Task, Workload, "str | None", str, Device], Recording]
_Key = tuple[str, str, "str | None", str]


class Recorder:
    """Records behind the sandbox's walls, several at a time.

    Args:
        record: Makes one recording, in a process of its own.
        threads: How many are made at a time.
    """

    def __init__(self, record: Record, threads: int) -> None:
        self._record = record
        self._pool = ThreadPoolExecutor(threads, "recorder")
        self._lock = threading.Lock()
        self._expected: dict[_Key, Future[Recording]] = {}

    def expect(self, task: Task, source: str | None, language: str, device: Device) -> None:
        """Begin to record a candidate, or the reference if there is no source, for every workload of a task."""
        for workload in (*task.workloads, *task.extra):
            key = (task.identity, workload.name, source, language)
            with self._lock:
                if key not in self._expected:
                    self._expected[key] = self._pool.submit(self._record, task, workload, source, language, device)

    def __call__(self, task: Task, workload: Workload, source: str | None, language: str, device: Device) -> Recording:
        """The recording, made now unless it was expected."""
        with self._lock:
            expected = self._expected.pop((task.identity, workload.name, source, language), None)
        return expected.result() if expected is not None else self._record(task, workload, source, language, device)

    def forget(self, identity: str) -> None:
        """Drop what was expected for the candidates of a task and not asked for."""
        with self._lock:
            for key in [key for key in self._expected if key[0] == identity and key[2] is not None]:
                self._expected.pop(key).cancel()

    def close(self) -> None:
        """Make no more recordings; what is under way ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
