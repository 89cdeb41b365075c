"""Several benches on one GPU: any number may work on it, but while one times, it is alone.

A bench that prepares, checks or makes inputs holds the device's lock with others; its worker holds it alone for the
timed pairs. Starting a judge for each problem takes longer than timing its kernels, and that is what overlaps.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
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

TIMED = "pairs"  # the worker's command under which it times


class Turns:
    """A lock of the device, held by this process with others or alone; released by the kernel if the process dies."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold the device with others."""
        fcntl.flock(self._file, fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the device alone, inside `together`."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_SH)


class TimedAlone(WorkerHandle):
    """A worker whose timed runs have the device alone."""

    def __init__(self, turns: Turns, platform: str = CUDA) -> None:
        super().__init__(platform)
        self._turns = turns

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        with self._turns.alone() if command["do"] == TIMED else nullcontext():
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
