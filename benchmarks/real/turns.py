"""Several benches on one GPU: any number may work on it, but while one has a candidate in hand, it is alone.

A bench that starts a judge and makes inputs holds the device's lock with others; from loading a candidate until its
outcome it holds it alone. Waiting comes before the candidate is loaded, and never within a command that the judge
times: it would take the wait for time that the candidate hides. Starting a judge for each problem takes longer than
timing its kernels, and that is what overlaps.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.handle import CUDA, WorkerHandle
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Build
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask

FIRST = "load"  # the worker's command with which a candidate begins


class Turns:
    """A lock of the device, held by this process with others or alone; released by the kernel if the process dies."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._gate = os.open(path.with_suffix(".gate"), os.O_RDWR | os.O_CREAT, 0o600)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold the device with others; those who wait to be alone come first."""
        fcntl.flock(self._gate, fcntl.LOCK_SH)
        fcntl.flock(self._file, fcntl.LOCK_SH)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def alone(self) -> None:
        """Hold the device alone until the end of the `together` that this is called in."""
        fcntl.flock(self._file, fcntl.LOCK_UN)  # of two who wait at the gate neither keeps the other out
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        fcntl.flock(self._gate, fcntl.LOCK_UN)


class TimedAlone(WorkerHandle):
    """A worker whose candidates have the device alone."""

    def __init__(self, turns: Turns, platform: str = CUDA) -> None:
        super().__init__(platform)
        self._turns = turns

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        if command["do"] == FIRST:
            self._turns.alone()
        return super().ask(timeout_s, **command)


class InTurns:
    """A bench that shares its device, and leaves out tasks that it refuses, with a line about each."""

    def __init__(self, bench: GpuBench, turns: Turns) -> None:
        self._bench, self._turns = bench, turns
        self.device: Device = bench.device

    def expect(self, task: Task, candidates: Sequence[Candidate]) -> None:
        self._bench.expect(task, candidates)

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        return self._bench.build(task, candidates)

    def close(self) -> None:
        self._bench.close()

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        self._bench.build(task, candidates)  # nobody waits for a compiler while holding the device
        outcomes = self._bench.measure(task, candidates, hopeless_below)
        while True:
            try:
                with self._turns.together():
                    outcome = next(outcomes, None)
            except BadTask as refusal:
                print(f"{task.name} is refused: {refusal}", flush=True)
                return
            if outcome is None:
                return
            yield outcome
