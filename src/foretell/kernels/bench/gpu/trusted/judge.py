"""The judge of trusted replay: records, has Programs replayed, compares, and decides. It runs no foreign code.

References and candidates are recorded behind the sandbox's walls and carried out by processes that hold our code alone.
What cannot be recorded is run `live` and marked so.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from foretell.kernels.bench.gpu.handle import DeviceLost, Worker, WorkerFailed
from foretell.kernels.bench.gpu.memory import MemoryFull
from foretell.kernels.bench.gpu.nvml import conditions
from foretell.kernels.bench.gpu.platform import Platform
from foretell.kernels.bench.gpu.trusted.contest import LiveContest, ReplayContest, floor_us
from foretell.kernels.bench.gpu.trusted.other_weights import OtherWeights
from foretell.kernels.bench.gpu.trusted.pool import LightPool
from foretell.kernels.bench.gpu.trusted.process import LIVE as LIVE_ROLE
from foretell.kernels.bench.gpu.trusted.process import REPLAYER, SOURCE, Process, ReferenceFailed, spent_in
from foretell.kernels.bench.gpu.trusted.recorder import Record
from foretell.kernels.bench.gpu.trusted.scene import Scene
from foretell.kernels.bench.gpu.trusted.seats import Seat, Seats
from foretell.kernels.bench.gpu.trusted.source import LibrarySource, ProblemSource, Source, fetch_weights
from foretell.kernels.bench.gpu.trusted.verdict import computing_fault
from foretell.kernels.bench.gpu.worker import OUT_OF_MEMORY
from foretell.kernels.bench.statistics import combine
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.measurement import LIVE, REPLAYED, TRUST, TRUST_REASON, Cost, Measurement, Status
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.program import Program
from foretell.kernels.record.refusal import Reason, Recording
from foretell.kernels.task import Task
from foretell.kernels.tasks import gpumode

Start = Callable[[str], Worker]  # of a role

_SWITCH_S = 5e-4  # for which other threads of this process may keep the judge waiting
_REFUSED = {Reason.BUILD: Status.COMPILE_ERROR, Reason.FORGED: Status.CHEAT}


class NotReplayed(Exception):
    """The task cannot be judged by trusted replay; the sentence says why."""


class ReplayJudge:
    """Judges candidates of one task on one GPU by replaying their Programs.

    Args:
        task: The task.
        device: What is recorded for and measured on.
        effort: How hard it works.
        platform: The device's memory and streams, in this process.
        start: A worker for processes of that role.
        record: Records a reference (no source) or candidate for every workload, behind walls.
        pool: Light processes, which stay the caller's.

    Raises NotReplayed if the task's reference has no Program that can be judged by.
    """

    def __init__(
        self,
        task: Task,
        device: Device,
        effort: GpuEffort,
        platform: Platform,
        start: Start,
        record: Record,
        pool: LightPool,
    ) -> None:
        if task.kind == gpumode.KIND:
            raise NotReplayed("GPU MODE problems check results with code of their own")
        self._task, self._device, self._effort, self._platform = task, device, effort, platform
        self._record, self._start = record, start
        self._waited_s = 0.0  # for candidates to be made ready
        programs = self._references()
        self._candidate = self._process(REPLAYER)
        self._weights = self._process(SOURCE)
        self._live: tuple[Process, Process] | None = None
        self._scene = Scene(task, programs, platform, effort, self._process(REPLAYER, ReferenceFailed))
        self._pool, self._lights_spent_s = pool, spent_in(pool.processes)
        self._seats = Seats(self._scene, self._recorded, pool, effort)
        self._in_use = self._candidate
        self._watcher = ThreadPoolExecutor(1, "conditions")
        try:
            parameters = fetch_weights(task, self._weights, self._scene.sides[0], programs[0], 0, None, effort)
            self._scene.open(self._source())
            self._other_weights = OtherWeights(self._scene, parameters)
        except WorkerFailed as failure:
            self.close()
            if str(failure) == OUT_OF_MEMORY:
                raise MemoryFull from failure
            raise NotReplayed(f"its reference cannot be replayed: {failure}") from failure
        except BaseException:
            self.close()
            raise

    def _process(self, role: str, failure: type[WorkerFailed] = WorkerFailed) -> Process:
        return Process(self._start(role), role, failure)

    @property
    def spent_s(self) -> dict[str, float]:
        """Seconds that its processes were waited for, by command, and that its own work took."""
        spent: dict[str, float] = defaultdict(float, self._scene.spent_s)
        spent["wait"] += self._waited_s
        for process in (self._candidate, self._weights, self._scene.reference, *(self._live or ())):
            for name, value in process.spent_s.items():
                spent[name] += value
        for name, value in spent_in(self._pool.processes).items():
            spent[name] += value - self._lights_spent_s.get(name, 0.0)
        return spent

    @property
    def alive(self) -> bool:
        """Whether it can judge: its processes are replaced as needed."""
        return True

    def ensure_open(self) -> None:
        """Have a process ready for the next candidate."""

    def foresee(self, candidate: Candidate) -> None:
        """Begin to make a candidate ready that is judged soon; nothing of it runs on the device before its turn."""
        self._seats.foresee(candidate)

    def judge(self, candidate: Candidate, hopeless_below: float | None = None, traced: bool = True) -> Measurement:
        """Check and time one candidate. Failures are values; DeviceLost if no process can be had."""
        started = time.perf_counter()
        state = self._watcher.submit(conditions)  # the driver answers late while contexts are made
        try:
            with _seldom_interrupted():
                outcome = self._judged(candidate, hopeless_below)
        except ReferenceFailed as failure:
            outcome = self._blamed(failure)
        except WorkerFailed as failure:
            outcome = Measurement(failure.status, str(failure))
        finally:
            self._candidate.stop()  # a torch process that held a candidate's image is not used again
        if not outcome.ok:
            self._candidate.end()
        wall_s = time.perf_counter() - started
        marks = {**state.result(), **outcome.conditions}
        message = plain(outcome.message)
        return replace(
            outcome, message=message, cost=Cost(0.0, wall_s, wall_s), device=self._device.id, conditions=marks
        )

    def _blamed(self, failure: ReferenceFailed) -> Measurement:
        """The candidate's fault, if it changed inputs under the reference's hands; else DeviceLost is raised."""
        self._in_use.end()
        fault = self._scene.changed_input()
        self._scene.reference.end()
        try:
            self._scene.open_reference()
        except WorkerFailed as again:
            raise DeviceLost(f"the reference cannot be replayed any more: {again}") from again
        if fault is None:
            raise DeviceLost(f"the reference's process failed: {failure}") from failure
        return fault

    def close(self) -> None:
        self._seats.close()
        self._watcher.shutdown(wait=False)
        others = (self._candidate, self._weights, *(self._live or ()))
        for process in (*others, self._scene.reference):
            process.stop()  # all at once, before any of them is waited for
        self._scene.close()
        for process in others:
            process.close()
        self._platform.let_go()

    def _references(self) -> list[Program]:
        """The reference's Program of each workload, timed ones first."""
        programs = []
        for recording in self._record(self._task, None, "torch", self._device):
            if recording.program is None:
                raise NotReplayed(f"its reference cannot be recorded: {recording.refusal}")
            if recording.program.launches():
                raise NotReplayed("its reference launches kernels of its own")
            programs.append(recording.program)
        return programs

    def _source(self) -> Source:
        if self._task.kind == "library":
            return LibrarySource(self._task, self._platform, self._scene.inputs)
        return ProblemSource(self._task, self._process(SOURCE), self._scene.inputs, self._effort)

    def _recorded(self, candidate: Candidate) -> list[Recording]:
        return self._record(self._task, candidate.source, candidate.language, self._device)

    def _judged(self, candidate: Candidate, hopeless_below: float | None) -> Measurement:
        started = time.perf_counter()
        seat = self._seats.take(candidate)
        self._waited_s += time.perf_counter() - started
        outcome: Measurement | None = None
        try:
            for recording in seat.recordings:
                refusal = recording.refusal
                if refusal is not None and refusal.reason in _REFUSED:
                    return Measurement(_REFUSED[refusal.reason], refusal.sentence)
                if refusal is not None:
                    return self._run_live(candidate, str(refusal), hopeless_below)
            outcome = self._replayed(candidate, seat, hopeless_below)
            return outcome
        finally:
            self._seats.give_back(seat, is_well=outcome is not None and outcome.ok)

    def _replayed(self, candidate: Candidate, seat: Seat, hopeless_below: float | None) -> Measurement:
        scene = self._scene
        choices = [[r.program, *r.alternatives][: self._effort.replay_configurations] for r in seat.recordings]
        programs: list[Program] = [choice[0] for choice in choices if choice[0] is not None]
        if not self._task.library_calls and candidate.language in ("triton", "cuda"):
            every = [program for choice in choices for program in choice if program is not None]
            fault_words = next(filter(None, map(computing_fault, every)), "")
            if fault_words:
                return _marked(Measurement(Status.CHEAT, fault_words), REPLAYED)
        weights_bytes = max(sum(weight.view.end_bytes for weight in program.weights) for program in programs)
        if weights_bytes > self._device.memory_bytes:  # for which the judge would have to make room
            words = f"its weights take {weights_bytes} bytes, more than the device has"
            return _marked(Measurement(Status.LAUNCH_ERROR, words), REPLAYED)
        scene.seat(programs[0].weights)
        process = self._in_use = seat.process or self._opened(candidate, programs)
        contest = ReplayContest(scene, process, self._effort)
        contest.weights, fault = self._other_weights.check(process, programs[0], seat.loaded)
        if fault:
            return _marked(fault, REPLAYED)
        for index, choice in enumerate(choices):
            if not seat.loaded:
                contest.choose(index, [program for program in choice if program is not None])
            fault = scene.check_known(process, index)
            if fault:
                return _marked(fault, REPLAYED)
        measured = self._timed(contest, REPLAYED, "", hopeless_below)
        fault = scene.strayed() if measured.ok else None
        return _marked(fault, REPLAYED) if fault else measured

    def _opened(self, candidate: Candidate, programs: Sequence[Program]) -> Process:
        """A process with torch for a candidate, its memory lent to it."""
        scene, process, effort = self._scene, self._candidate, self._effort
        fetch_weights(self._task, self._weights, scene.sides[1], programs[0], 0, candidate.source, effort)
        process.renew()
        process.lend("inputs", scene.inputs, effort.open_timeout_s)
        process.lend("outputs", scene.sides[1].room, effort.open_timeout_s)
        return process

    def _run_live(self, candidate: Candidate, reason: str, hopeless_below: float | None) -> Measurement:
        self._scene.seat()
        if self._live is None:
            self._live = self._process(LIVE_ROLE, ReferenceFailed), self._process(LIVE_ROLE)
        contest = LiveContest(self._scene, *self._live, self._effort)
        try:
            contest.open(self._task, candidate)
            for index in range(len(self._scene.stages)):
                fault = self._scene.check_known(self._live[1], index)
                if fault:
                    return _marked(fault, LIVE, reason)
            return self._timed(contest, LIVE, reason, hopeless_below)
        except ReferenceFailed:
            raise
        except WorkerFailed as failure:
            return _marked(Measurement(failure.status, str(failure)), LIVE, reason)
        finally:
            self._live[1].end()

    def _timed(
        self, contest: ReplayContest | LiveContest, trust: str, reason: str, hopeless_below: float | None
    ) -> Measurement:
        timings, methods, stopped = [], set(), False
        for index, stage in enumerate(self._scene.stages):
            if not stage.timed:
                continue
            methods.add(contest.prepare(index))
            result = contest.pairs(index, hopeless_below, stopped)
            if isinstance(result, Measurement):
                return _marked(result, trust, reason)
            timing, stopped = result
            floor = floor_us(self._task, stage, self._device, self._effort)
            if statistics.median(timing.candidate_us) < floor:
                words = f"{statistics.median(timing.candidate_us):.1f} us is less than the {floor:.1f} us"
                fault = Measurement(Status.CHEAT, f"{words} that physics allows")
                return _marked(fault, trust, reason)
            timings.append(timing)
        speedup, low, high = combine(timings, self._effort.between_processes)
        measured = Measurement(
            Status.OK, "", speedup, low, high, tuple(timings), stopped, method=contest.words(methods)
        )
        details: dict[str, Any] = {
            "timed": "/".join(sorted(methods)),
            "tf32": self._scene.tf32,
            "expected": self._scene.precisions,
        }
        details |= {"timed_on": f"{contest.slowest_on} numbers"} if contest.slowest_on else {}
        details |= {"weights": contest.weights} if contest.weights else {}
        details |= {"unexplained_us": round(max(contest.unexplained_us), 1)} if contest.unexplained_us else {}
        return _marked(measured, trust, reason, details)


@contextmanager
def _seldom_interrupted() -> Iterator[None]:
    """Builders and recorders are waited for by threads of this process: they must not hold the judge up for long."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _marked(outcome: Measurement, trust: str, reason: str = "", details: dict[str, Any] | None = None) -> Measurement:
    """The measurement with how far it can be trusted, and why not further."""
    marks = {TRUST: trust, **({TRUST_REASON: plain(reason)} if reason else {}), **(details or {})}
    return replace(outcome, conditions={**outcome.conditions, **marks})
