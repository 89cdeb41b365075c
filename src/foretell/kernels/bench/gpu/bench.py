"""The GPU bench: builders on the CPU's cores feed one warm worker; one measurement at a time on the device."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import TypeVar

from foretell.kernels.bench.gpu.apart import JudgeApart
from foretell.kernels.bench.gpu.builders import BuilderPool
from foretell.kernels.bench.gpu.device import detect_gpu
from foretell.kernels.bench.gpu.exhibit import Arena
from foretell.kernels.bench.gpu.handle import DeviceLost, Spares, Worker, WorkerHandle
from foretell.kernels.bench.gpu.judge import Judge
from foretell.kernels.bench.gpu.memory import DeviceFull, MemoryFull, is_full, is_out_of_memory
from foretell.kernels.bench.gpu.platform import Cuda, Platform, name_of
from foretell.kernels.bench.gpu.server import data_of
from foretell.kernels.bench.gpu.trusted.judge import NotReplayed, ReplayJudge
from foretell.kernels.bench.gpu.trusted.pool import LightPool
from foretell.kernels.bench.gpu.trusted.process import JOB, LIGHT, LIGHT_JOB, REPLAYER, Process
from foretell.kernels.bench.gpu.trusted.recorder import Recorder
from foretell.kernels.bench.gpu.worker import OUT_OF_MEMORY
from foretell.kernels.candidate import Candidate
from foretell.kernels.cost.recordings import recordings_of
from foretell.kernels.device import Device
from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.measurement import IN_PROCESS, TRUST, TRUST_REASON, Cost, Measurement, Status
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.profiles import GPU_BENCH, GpuEffort
from foretell.kernels.protocols import Build
from foretell.kernels.task import Task
from foretell.kernels.tasks.refusal import BadTask, Refusal

WORKER, REPLAY = METHODS = ("worker", "replay")
_T = TypeVar("_T")


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
        """`device`, `worker` and `platform` are found or started where they are not given.

        The environment variable FORETELL_GPU_METHOD chooses another `method` than the effort's.
        """
        effort = replace(effort, method=method_of(effort))
        self.device: Device = device or detect_gpu()
        if effort.method == REPLAY:  # other numbers, which the catalogue must not mix with those of the worker
            self.device = replace(self.device, toolchain=f"{self.device.toolchain}, {REPLAY}".removeprefix(", "))
        self._effort = effort
        cores = builders or os.cpu_count() or 2
        # A replay has few waits, each of them short: cores for it must be free whenever it goes on.
        building = max(1, cores * 5 // 8) if effort.method == REPLAY else cores
        self._builders = BuilderPool(capability_of(self.device), building, True, self.device.cores)
        self._platform: Platform = platform or Cuda()
        self._worker: Worker = worker or WorkerHandle(name_of(self._platform))
        self._arena = Arena(self._platform)
        self._judge: tuple[str, Judge | JudgeApart | ReplayJudge] | None = None
        self._recorder = Recorder(recordings_of, max(1, cores // 4)) if effort.method == REPLAY else None
        self._spares: dict[str, Spares] = {}
        if effort.method == REPLAY:
            self._spares[JOB] = Spares(name_of(self._platform), JOB, self._fitting(effort.replay_spares))
            self._spares[LIGHT_JOB] = Spares(name_of(self._platform), LIGHT_JOB, 1)
        light = self._fitting(effort.replay_light) if self._spares else 0
        self._pool = LightPool([self._light() for _ in range(light)])
        self._not_replayed: dict[str, str] = {}
        self.waited_for_build_s = 0.0
        self.spent_s: dict[str, float] = defaultdict(float)

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        futures = [self._builders.submit(task, candidate) for candidate in candidates]
        return [future.result() for future in futures]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        """Check and time each candidate as its build finishes.

        A lost device is retried once with a new worker, and memory that other processes hold is waited for, at most
        about `memory_waits` times `memory_wait_s` of the effort; then the outcome is `infrastructure`. Raises BadTask
        if the task's own code cannot be worked with.
        """
        waiting: dict[Future[Build], Candidate] = {self._submit(task, candidate): candidate for candidate in candidates}
        ready: list[tuple[Candidate, Build]] = []
        while waiting or ready:
            started = time.perf_counter()
            done, _ = wait(waiting, timeout=0 if ready else None, return_when=FIRST_COMPLETED)
            self.waited_for_build_s += time.perf_counter() - started
            ready += [(waiting.pop(future), future.result()) for future in done]
            candidate, built = ready.pop(0)
            self._foresee(task, [candidate] if built.ok else [], [c for c, build in ready if build.ok])
            yield candidate, self._measure_one(task, candidate, built, hopeless_below)

    def _foresee(self, task: Task, now: Sequence[Candidate], next_ones: Sequence[Candidate]) -> None:
        """Let the judge by replay make those ready that come next, while one is measured."""
        judge = self._judge[1] if self._judge is not None and self._judge[0] == task.identity else None
        if isinstance(judge, ReplayJudge):
            for candidate in (*now, *next_ones[: self._effort.replay_light]):
                judge.foresee(candidate)

    def expect(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """Let the builders begin; `measure` takes what they have made."""
        for candidate in candidates:
            self._submit(task, candidate)

    def _submit(self, task: Task, candidate: Candidate) -> Future[Build]:
        """Have a candidate built, and then recorded if it is to be replayed."""
        future = self._builders.submit(task, candidate)
        recorder = self._recorder
        if recorder is None:
            return future
        recorder.expect(task, None, "torch", self.device)
        recorded: Future[Build] = Future()

        def record(done: Future[Build]) -> None:
            if not done.result().ok:
                recorded.set_result(done.result())
                return
            try:
                recording = recorder.expect(task, candidate.source, candidate.language, self.device)
            except RuntimeError:  # the bench is closed
                recorded.cancel()
                return
            recording.add_done_callback(lambda _: recorded.set_result(done.result()))

        future.add_done_callback(record)
        return recorded

    def warm_up(self) -> None:
        """Start the worker, or processes for replays, now, so that the first measurement does not wait for them."""
        for spares in self._spares.values():
            spares.fill()
        self._pool.warm_up()
        if not self._spares:
            self._worker.start()

    def prepare(self, task: Task) -> None:
        """Make inputs and expected values, and tell the worker, before the clock of a batch runs."""
        self._with_room(lambda: self._judge_of(task).ensure_open())

    def close(self) -> None:
        self._builders.close()
        if self._recorder is not None:
            self._recorder.close()
        self._retire()
        self._worker.close()
        self._pool.close()
        self._end_spares()

    def _fitting(self, processes: int) -> int:
        """As many of these processes as there are cores and memory of the device for, at least one."""
        room = int(self.device.memory_bytes // self._effort.replay_spare_room_bytes)
        return max(1, min(processes, os.cpu_count() or 1, room))

    def _light(self) -> Process:
        return Process(WorkerHandle(name_of(self._platform), self._spares[LIGHT_JOB]), LIGHT)

    def _end_spares(self) -> None:
        """End the processes that stand ready, and wait until they have given back the device's memory."""
        for talk in [talk for spares in self._spares.values() for talk in spares.close()]:
            talk.ending()

    @property
    def worker_starts(self) -> int:
        return self._worker.starts

    def _retire(self) -> None:
        if self._judge is None:
            return
        for name, value in self._judge[1].spent_s.items():
            self.spent_s[name] += value
        self._judge[1].close()
        if self._recorder is not None:
            self._recorder.forget(self._judge[0])
        self._judge = None

    def _judge_of(self, task: Task) -> Judge | JudgeApart | ReplayJudge:
        if self._judge is None or self._judge[0] != task.identity or not self._judge[1].alive:
            self._retire()
            try:
                judge = self._with_room(lambda: self._new_judge(task))
            except MemoryFull as full:
                what = f"the data of {task.name} does not fit into the memory of {self.device.name}"
                raise BadTask(Refusal.TOO_LARGE, what, "data that fits", "use smaller sizes (--size)") from full
            self._judge = (task.identity, judge)
        return self._judge[1]

    def _new_judge(self, task: Task) -> Judge | JudgeApart | ReplayJudge:
        """A judge: in this process for the library's own tasks, and behind walls for any other, whose code it runs.

        A judge by replay runs no code of a task. Tasks that it cannot judge are judged as without it, and marked.
        """
        if self._recorder is not None and task.identity not in self._not_replayed:
            try:
                return self._replay_judge(task, self._recorder)
            except NotReplayed as reason:
                self._not_replayed[task.identity] = str(reason)
        if task.kind != "library":
            return JudgeApart(task, self._worker, self.device, self._effort, name_of(self._platform))
        try:
            return Judge(task, self._worker, self.device, self._effort, self._platform, self._arena)
        except BadTask as refused:
            if is_out_of_memory(refused.__cause__):
                raise MemoryFull from refused
            raise

    def _replay_judge(self, task: Task, recorder: Recorder) -> ReplayJudge:
        platform, data = name_of(self._platform), data_of(task)

        def start(role: str) -> Worker:
            reads = role != REPLAYER and bool(data)
            return WorkerHandle(platform, Spares(platform, JOB, 0, data) if reads else self._spares[JOB])

        return ReplayJudge(task, self.device, self._effort, self._platform, start, recorder, self._pool)

    def _with_room(self, act: Callable[[], _T]) -> _T:
        """What `act` returns; once more with all of this bench's memory given back, then as long as others hold some.

        Raises MemoryFull, or the DeviceLost that it caused, if nobody else holds much; DeviceFull after the last wait.
        """
        effort, waits, alone = self._effort, 0, False
        while True:
            try:
                return act()
            except Exception as error:
                if not is_full(error):
                    raise
                fault = DeviceLost(str(error)) if isinstance(error, DeviceLost) else MemoryFull()
            # Only now: an error keeps what its frames hold.
            self._free_memory()  # a worker may keep what a candidate left, the arena what a larger task needed
            if alone:
                raise fault
            taken_bytes = self._platform.taken_bytes()
            alone = taken_bytes < effort.others_share * self.device.memory_bytes
            if not alone:
                if waits == effort.memory_waits:
                    raise DeviceFull(f"the GPU's memory is full: other processes hold {taken_bytes / 2**30:.1f} GiB")
                waits += 1
                time.sleep(effort.memory_wait_s * (0.5 + random.random()))  # not all at the same time

    def _free_memory(self) -> None:
        """Give back all device memory that is ours: with it goes the worker."""
        self._retire()
        self._worker.stop()
        self._worker.await_end()
        self._pool.let_go()
        self._end_spares()
        self._arena = Arena(self._platform)
        self._platform.let_go()

    def _measure_one(self, task: Task, candidate: Candidate, built: Build, hopeless_below: float | None) -> Measurement:
        if not built.ok:
            return Measurement(built.status, built.message, cost=Cost(build_s=built.seconds), device=self.device.id)
        try:
            outcome = self._with_room(lambda: self._judged(task, candidate, hopeless_below, bool(built.features)))
        except MemoryFull:
            outcome = Measurement(Status.LAUNCH_ERROR, OUT_OF_MEMORY, device=self.device.id)
        except DeviceLost as lost:
            outcome = Measurement(Status.INFRASTRUCTURE, str(lost), device=self.device.id)
        cost = replace(outcome.cost, build_s=built.seconds)
        marks = {}
        if task.identity in self._not_replayed:
            marks = {TRUST: IN_PROCESS, TRUST_REASON: plain(self._not_replayed[task.identity])}
        return replace(outcome, cost=cost, conditions={**outcome.conditions, **marks})

    def _judged(self, task: Task, candidate: Candidate, hopeless_below: float | None, traced: bool) -> Measurement:
        """A candidate's measurement, tried twice if the device is lost. Raises MemoryFull, DeviceLost."""
        try:
            outcome = self._judge_of(task).judge(candidate, hopeless_below, traced)
        except DeviceLost as lost:
            if isinstance(lost, DeviceFull) or is_full(lost):
                raise
            outcome = self._judge_of(task).judge(candidate, hopeless_below, traced)
        if outcome.message == OUT_OF_MEMORY:
            raise MemoryFull
        return outcome


def method_of(effort: GpuEffort) -> str:
    """How candidates are timed. Raises ValueError if there is no such way."""
    method = os.environ.get("FORETELL_GPU_METHOD") or effort.method
    if method not in METHODS:
        raise ValueError(f"FORETELL_GPU_METHOD is {method!r}; expected one of {', '.join(METHODS)}")
    return method
