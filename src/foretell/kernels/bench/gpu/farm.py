"""Several GPUs: a process for each, which sees that GPU alone; candidates go to whichever is free."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from foretell.kernels.bench.children import SpawnContext
from foretell.kernels.bench.gpu.builders import BuilderPool
from foretell.kernels.bench.gpu.device import visible_gpus
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.profiles import GPU_BENCH, GpuEffort
from foretell.kernels.protocols import Build
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask, from_spec

_AT_ONCE = 8  # candidates handed to a GPU in one go, so that its builders have something to do
_Outcome = tuple[Candidate, Measurement]


class GpuFarm:
    """A bench over several GPUs of one kind; measures as `GpuBench` does, in whatever order candidates are done."""

    def __init__(self, gpus: Sequence[str] | None = None, effort: GpuEffort = GPU_BENCH) -> None:
        names = list(gpus if gpus is not None else visible_gpus())
        share = max(1, ((os.cpu_count() or 2) - 1) // max(1, len(names)))
        context = SpawnContext()
        self._members: list[tuple[Any, Any]] = []
        for name in names:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, name, effort, share))
            process.start()
            theirs.close()
            self._members.append((process, ours))
        described = [connection.recv() for _, connection in self._members]
        self.device: Device = Device.from_dict(described[0])
        self._builders: BuilderPool | None = None

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        """Build all in this process's own builders, in order."""
        if self._builders is None:
            self._builders = BuilderPool(capability_of(self.device), multiprocessors=self.device.cores)
        futures = [self._builders.submit(task, candidate) for candidate in candidates]
        return [future.result() for future in futures]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[_Outcome]:
        """Check and time each candidate; what a process that died was given is `infrastructure`.

        Raises BadTask if the task's own code cannot be worked with.
        """
        waiting: queue.SimpleQueue[list[Candidate]] = queue.SimpleQueue()
        for start in range(0, len(candidates), _AT_ONCE):
            waiting.put(list(candidates[start : start + _AT_ONCE]))
        done: queue.SimpleQueue[_Outcome | BadTask] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=_feed, args=(connection, task.spec, waiting, done, hopeless_below), daemon=True)
            for _, connection in self._members
        ]
        for thread in threads:
            thread.start()
        for _ in candidates:
            outcome = done.get()
            if isinstance(outcome, BadTask):
                raise outcome
            yield outcome
        for thread in threads:
            thread.join()

    def close(self) -> None:
        if self._builders is not None:
            self._builders.close()
        for process, connection in self._members:
            connection.close()
            process.join(20)
            if process.is_alive():
                process.kill()


def _feed(
    connection: Any,
    spec: dict[str, Any],
    waiting: queue.SimpleQueue[list[Candidate]],
    done: queue.SimpleQueue[_Outcome | BadTask],
    hopeless_below: float | None,
) -> None:
    """Give one GPU batch after batch, and pass on what comes back."""
    while True:
        try:
            batch = waiting.get_nowait()
        except queue.Empty:
            return
        left = {candidate.id: candidate for candidate in batch}
        try:
            connection.send((spec, batch, hopeless_below))
            while left:
                answer = connection.recv()
                if isinstance(answer, BadTask):
                    done.put(answer)
                    return
                done.put((left.pop(answer[0]), Measurement.from_dict(answer[1])))
        except (EOFError, OSError) as error:
            for candidate in left.values():
                done.put((candidate, Measurement(Status.INFRASTRUCTURE, f"a GPU's process is gone: {error}")))


def _serve(connection: Connection, gpu: str, effort: GpuEffort, builders: int) -> None:
    """One GPU's process: trusted code only; candidates run in the worker that its bench starts."""
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    from foretell.kernels.bench.gpu.bench import GpuBench

    bench = GpuBench(effort, builders)
    connection.send(bench.device.to_dict())
    try:
        while True:
            spec, batch, hopeless_below = connection.recv()
            try:
                for candidate, outcome in bench.measure(from_spec(spec), batch, hopeless_below):
                    connection.send((candidate.id, outcome.to_dict()))
            except BadTask as error:
                connection.send(error)
    except EOFError:
        bench.close()
