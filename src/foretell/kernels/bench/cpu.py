"""The CPU bench: builds C++ candidates, checks them on fresh inputs, and times them paired with the reference.

The candidate and the reference live in two processes of their own, new ones in each measurement, each under a keeper;
this one, the judge, holds the expected results and never runs foreign code. They take turns, each stopped but for its
calls, on inputs that it has never seen and that were flushed from every cache; drift of a shared machine hits both
alike and cancels in the ratio.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from foretell.errors import BadInput
from foretell.kernels.bench.arena import needed_bytes
from foretell.kernels.bench.cpu_device import detect_cpu
from foretell.kernels.bench.faults import Starved, WorkerFault
from foretell.kernels.bench.memory import check_size
from foretell.kernels.bench.processes import over_processes
from foretell.kernels.bench.timing_lock import timing_lock
from foretell.kernels.bench.trial import Bay, ReferenceFault, Trial
from foretell.kernels.bench.worker import Worker
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.languages import cpp
from foretell.kernels.languages.cpp_signature import signature
from foretell.kernels.measurement import Cost, Measurement, Status
from foretell.kernels.profiles import BENCH, BenchEffort
from foretell.kernels.protocols import Build
from foretell.kernels.task import Task
from foretell.kernels.tasks.refusal import BadTask, Refusal

METHOD = (
    "cold data: new inputs in every run, every cache line of inputs and outputs flushed before it; code warm; timed "
    "from outside, from the go until all threads have stopped, less an empty call on the same path: a kernel on one "
    "thread by its time on a core, one on several by the clock; reference and candidate in separate processes, "
    "interleaved in alternating order; pairs that other processes interrupted are taken again; median of paired ratios"
)
SEVERAL = "; median over {} pairs of fresh processes, whose intervals all lie in the one shown"


STARVED_TRIES = 3  # of a candidate that others keep from the processors


class Unsuitable(BadInput):
    """The candidate's language does not run on this device."""


class CpuBench:
    """Measures `cpp` candidates on this machine's CPU, one at a time."""

    def __init__(self, effort: BenchEffort = BENCH, device: Device | None = None) -> None:
        self.device = device or detect_cpu()
        self._effort = effort
        self._entropy = int.from_bytes(os.urandom(8), "big")
        self._bays: dict[str, Bay] = {}

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        for candidate in candidates:
            if candidate.language not in self.device.languages:
                what = (
                    f"{self.device.name} runs {', '.join(self.device.languages)}; the candidate is {candidate.language}"
                )
                raise Unsuitable(what, "a source in a language that this device runs", "foretell doctor")
        return cpp.build_all(task, candidates)

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        check_size(task, self.device)
        for candidate, built in zip(candidates, self.build(task, candidates), strict=True):
            yield candidate, self._measure_one(task, built, hopeless_below)

    def close(self) -> None:
        for bay in self._bays.values():
            bay.close()
        self._bays.clear()

    def _measure_one(self, task: Task, built: Build, hopeless_below: float | None) -> Measurement:
        if not built.ok or built.artifact is None:
            cost = Cost(build_s=built.seconds)
            return Measurement(built.status, built.message, cost=cost, device=self.device.id)
        started = time.perf_counter()
        with timing_lock() as alone:
            outcome, busy_s = self._judge(task, built.artifact, hopeless_below)
        conditions = dict(outcome.conditions) | ({} if alone else {"alone": False})
        cost = Cost(built.seconds, busy_s, time.perf_counter() - started)
        processes = outcome.conditions.get("processes", 1)
        method = METHOD + (SEVERAL.format(processes) if processes > 1 else "") if outcome.ok else ""
        return replace(outcome, cost=cost, method=method, device=self.device.id, conditions=conditions)

    def _judge(self, task: Task, artifact: Path, hopeless_below: float | None) -> tuple[Measurement, float]:
        """The outcome of checking and timing a built candidate, and the seconds that kernels ran.

        One that is not to be stopped early is to be known well, and gets several pairs of processes.
        """
        started, busy_s = time.perf_counter(), 0.0
        outcomes: list[Measurement] = []
        while len(outcomes) < (self._effort.processes if hopeless_below is None else 1):
            late = time.perf_counter() - started > self._effort.processes_cap_s
            if late and len(outcomes) >= self._effort.fewest_processes:
                break
            outcome, seconds = self._tried(task, artifact, hopeless_below)
            busy_s += seconds
            if not outcome.ok:
                return outcome, busy_s
            outcomes.append(outcome)
            if outcome.stopped_early:
                break
        return over_processes(outcomes), busy_s

    def _tried(self, task: Task, artifact: Path, hopeless_below: float | None) -> tuple[Measurement, float]:
        """The outcome in one pair of fresh processes, or in one of the next ones if the first ones were starved.

        What does not finish in any of them has had its chance: it is a timeout.
        """
        why = ""
        for _ in range(STARVED_TRIES):
            try:
                return self._judge_once(task, artifact, hopeless_below)
            except Starved as fault:
                why = str(fault)
        return Measurement(Status.TIMEOUT, f"{why}, nor in any of {STARVED_TRIES} tries"), 0.0

    def _judge_once(self, task: Task, artifact: Path, hopeless_below: float | None) -> tuple[Measurement, float]:
        """The outcome in one pair of fresh processes, and the seconds that kernels ran. Raises Starved."""
        try:
            bay = self._bay(task)
        except WorkerFault as fault:
            if task.files and fault.status is not Status.INFRASTRUCTURE:
                raise BadTask(
                    Refusal.DOES_NOT_RUN,
                    f"the C++ reference of {task.name} {fault}",
                    f"{signature(task)}, which gives what the numpy reference gives",
                ) from fault
            return Measurement(Status.INFRASTRUCTURE, f"the reference failed: {fault}"), 0.0
        trial = Trial(bay, self.device, self._effort, hopeless_below)
        worker = None
        try:
            worker = Worker(artifact, needed_bytes(task))
            outcome = trial.judge(worker)
        except Starved:
            raise
        except WorkerFault as fault:
            outcome = Measurement(fault.status, str(fault))
        except ReferenceFault as fault:
            del self._bays[task.identity]
            outcome = Measurement(Status.INFRASTRUCTURE, f"the reference failed: {fault}")
        finally:
            bay.close()
            if worker is not None:
                worker.close()
        return outcome, trial.busy_s

    def _bay(self, task: Task) -> Bay:
        if task.identity not in self._bays:
            self.close()  # one reference process at a time is enough
            self._bays[task.identity] = Bay(task, self._effort, self._entropy)
        else:
            self._bays[task.identity].renew()
        return self._bays[task.identity]


def reference_candidate(task: Task, language: str = "cpp") -> Candidate:
    """The task's reference as a candidate: the root of every search."""
    return Candidate(task.key, language, task.references[language], Origin("reference"))
