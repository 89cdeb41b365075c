"""The GPU bench: builders on the CPU's cores feed one warm worker; one measurement at a time on the device."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace

from foretell.kernels.bench.gpu.apart import JudgeApart, MemoryFull
from foretell.kernels.bench.gpu.builders import BuilderPool
from foretell.kernels.bench.gpu.device import detect_gpu
from foretell.kernels.bench.gpu.exhibit import Arena
from foretell.kernels.bench.gpu.handle import DeviceLost, Worker, WorkerHandle
from foretell.kernels.bench.gpu.judge import Judge
from foretell.kernels.bench.gpu.platform import Cuda, Platform, name_of
from foretell.kernels.bench.gpu.worker import OUT_OF_MEMORY
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Cost, Measurement, Status
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.profiles import GPU_BENCH, GpuEffort
from foretell.kernels.protocols import Build
from foretell.kernels.task import Task
from foretell.kernels.tasks.refusal import BadTask, Refusal


class GpuBench:
    """Measures `triton`, `cuda` and `torch` candidates on the first GPU that this process sees.

    Candidates are measured in the order in which their builds finish.
    """

    def __init__(
        self,
        effort: GpuEffort = GPU_BENCH,
        builders: int | None = None,
        device: Device | None = None,
        worker: Worker | None = None,
        platform: Platform | None = None,
    ) -> None:
        """`device`, `worker` and `platform` are found or started where they are not given."""
        self.device: Device = device or detect_gpu()
        self._effort = effort
        self._builders = BuilderPool(capability_of(self.device), builders, True, self.device.cores)
        self._platform: Platform = platform or Cuda()
        self._worker: Worker = worker or WorkerHandle(name_of(self._platform))
        self._arena = Arena(self._platform)
        self._judge: tuple[str, Judge | JudgeApart] | None = None
        self.waited_for_build_s = 0.0
        self.spent_s: dict[str, float] = defaultdict(float)

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        futures = [self._builders.submit(task, candidate) for candidate in candidates]
        return [future.result() for future in futures]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        """Check and time each candidate as its build finishes.

        A lost device is retried once with a new worker, then the outcome is `infrastructure`. Raises BadTask if the
        task's own code cannot be worked with.
        """
        waiting: dict[Future[Build], Candidate] = {
            self._builders.submit(task, candidate): candidate for candidate in candidates
        }
        while waiting:
            started = time.perf_counter()
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            self.waited_for_build_s += time.perf_counter() - started
            for future in done:
                candidate = waiting.pop(future)
                yield candidate, self._measure_one(task, candidate, future.result(), hopeless_below)

    def expect(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """Let the builders begin; `measure` takes what they have made."""
        for candidate in candidates:
            self._builders.submit(task, candidate)

    def warm_up(self) -> None:
        """Start the worker and the builders' server now, so that the first measurement does not wait for them."""
        self._worker.start()

    def prepare(self, task: Task) -> None:
        """Make inputs and expected values, and tell the worker, before the clock of a batch runs."""
        self._judge_of(task).ensure_open()

    def close(self) -> None:
        self._builders.close()
        self._retire()
        self._worker.close()

    @property
    def worker_starts(self) -> int:
        return self._worker.starts

    def _retire(self) -> None:
        if self._judge is None:
            return
        for name, value in self._judge[1].spent_s.items():
            self.spent_s[name] += value
        self._judge[1].close()
        self._judge = None

    def _judge_of(self, task: Task) -> Judge | JudgeApart:
        if self._judge is None or self._judge[0] != task.identity or not self._judge[1].alive:
            self._retire()
            try:
                judge = self._new_judge(task)
            except MemoryFull:  # a worker may keep what a candidate left, the arena what a larger task needed
                self._free_memory()
                try:
                    judge = self._new_judge(task)
                except MemoryFull as full:
                    what = f"the data of {task.name} does not fit into the memory of {self.device.name}"
                    raise BadTask(Refusal.TOO_LARGE, what, "data that fits", "use smaller sizes (--size)") from full
            self._judge = (task.identity, judge)
        return self._judge[1]

    def _new_judge(self, task: Task) -> Judge | JudgeApart:
        """A judge: in this process for the library's own tasks, and behind walls for any other, whose code it runs."""
        if task.kind != "library":
            return JudgeApart(task, self._worker, self.device, self._effort, name_of(self._platform))
        from torch import OutOfMemoryError

        try:
            return Judge(task, self._worker, self.device, self._effort, self._platform, self._arena)
        except OutOfMemoryError as error:
            raise MemoryFull from error
        except BadTask as refused:
            if isinstance(refused.__cause__, OutOfMemoryError):
                raise MemoryFull from refused
            raise

    def _free_memory(self) -> None:
        """Give back all device memory that is ours: with it goes the worker."""
        self._retire()
        self._worker.stop()
        self._worker.await_end()
        self._arena = Arena(self._platform)
        self._platform.let_go()

    def _measure_one(self, task: Task, candidate: Candidate, built: Build, hopeless_below: float | None) -> Measurement:
        if not built.ok:
            return Measurement(built.status, built.message, cost=Cost(build_s=built.seconds), device=self.device.id)
        outcome = Measurement(Status.INFRASTRUCTURE, "not measured", device=self.device.id)
        for _ in range(2):
            try:
                outcome = self._judge_of(task).judge(candidate, hopeless_below, traced=bool(built.features))
                if outcome.message != OUT_OF_MEMORY:
                    break
                self._free_memory()  # others' leavings may have filled it: once more with a new worker
            except DeviceLost as lost:
                outcome = Measurement(Status.INFRASTRUCTURE, str(lost), device=self.device.id)
        cost = replace(outcome.cost, build_s=built.seconds)
        return replace(outcome, cost=cost)
