"""The forecaster `program`: reference and candidate are recorded as Programs, and every step of both gets a time.

Physics only: nothing is learnt from speedups. Doubt comes from the steps that the two do not share. What cannot be
recorded is forecast by the roofline alone, with the reason in `last_troubles`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from foretell.belief import Forecast
from foretell.kernels.cost.recordings import recording_of
from foretell.kernels.cost.steps import ProgramTime, times_of
from foretell.kernels.device import Device
from foretell.kernels.forecast.recorded import is_own_fault
from foretell.kernels.forecast.roofline import CERTAIN, RooflineForecaster, build_failed
from foretell.kernels.measurement import Measurement
from foretell.kernels.profiles import PROGRAM_FORECAST
from foretell.kernels.program import Program
from foretell.kernels.protocols import Subject
from foretell.kernels.record import Reason
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask, kernelbench


@dataclass(frozen=True)
class Compared:
    """A candidate's Program beside its reference's: log2 of the speedup, and its standard deviation."""

    reference: ProgramTime
    candidate: ProgramTime
    log2: float
    doubt_log2: float
    eager_log2: float


def compared(reference: Program, candidate: Program, device: Device) -> Compared:
    """Times of both Programs on a device, and what they say of the speedup."""
    return compared_times(times_of(reference, device), times_of(candidate, device))


def compared_times(reference: ProgramTime, candidate: ProgramTime) -> Compared:
    """The speedup between two Programs whose times are known; steps that both have are off by the same factor."""
    shares: dict[str, list[float]] = {}
    for sign, each in ((1.0, reference), (-1.0, candidate)):
        total = sum(step.us for step in each.steps) or 1.0
        for step in each.steps:
            entry = shares.setdefault(step.key, [0.0, 0.0])
            entry[0] += sign * step.us / total
            entry[1] = max(entry[1], step.doubt_log2)
    up = sum(share * doubt for share, doubt in shares.values() if share > 0)
    down = sum(-share * doubt for share, doubt in shares.values() if share < 0)
    doubt = math.hypot(PROGRAM_FORECAST.least_doubt_log2, up, down)
    ratio = math.log2(reference.device_us / candidate.device_us)
    return Compared(reference, candidate, ratio, doubt, math.log2(reference.eager_us / candidate.eager_us))


class ProgramForecaster:
    """Forecasts the ratio of device times (graph replay, cold cache) by recording and costing Programs.

    Host code is executed, once per candidate, in a process of its own; recordings are kept on disk. `learn` changes
    nothing. With `eager` the ratio of eager times is forecast instead, for comparison with times measured so.
    `last_troubles` says, of the candidates of the last `forecast`, why one has no estimate of its own, and `compared`
    has the times of those that do.
    """

    cost_s = 5.0

    def __init__(self, eager: bool = False) -> None:
        self.name = "program:eager" if eager else "program"
        self._eager = eager
        self._roofline = RooflineForecaster()
        self.last_troubles: list[str | None] = []
        self.compared: list[Compared | None] = []

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Nothing is learnt: times are physics'."""

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        fallback = self._roofline.forecast(task, device, subjects)
        self.last_troubles, self.compared = [], []
        found = []
        for subject, wide in zip(subjects, fallback, strict=True):
            forecast, reason, pair = self._one(task, device, subject, wide)
            self.last_troubles.append(reason)
            self.compared.append(pair)
            found.append(forecast)
        return found

    def _one(
        self, task: Task, device: Device, subject: Subject, wide: Forecast
    ) -> tuple[Forecast, str | None, Compared | None]:
        if device.kind != "gpu":
            return wide, "programs are recorded for GPUs only", None
        if build_failed(subject):
            return wide, "it does not build", None
        candidate, task = subject.candidate, _runnable(task)
        pairs = []
        for workload in task.workloads[: PROGRAM_FORECAST.workloads]:
            reference = recording_of(task, workload, None, "torch", device)
            recording = recording_of(task, workload, candidate.source, candidate.language, device)
            refused = reference.refusal or recording.refusal
            if refused is not None or reference.program is None or recording.program is None:
                mine = recording.refusal
                blamed = mine is not None and is_own_fault(mine)
                chance = _P_FAIL.get(mine.reason, wide.p_fail) if mine and blamed else wide.p_fail
                return Forecast(chance, wide.knots, wide.levels), str(refused), None
            options = (recording.program, *recording.alternatives[: PROGRAM_FORECAST.alternatives])
            times = [times_of(program, device) for program in options]
            pairs.append(compared_times(times_of(reference.program, device), min(times, key=lambda t: t.device_us)))
        mean = fmean(pair.eager_log2 if self._eager else pair.log2 for pair in pairs)
        doubt = fmean(pair.doubt_log2 for pair in pairs)
        return Forecast.from_normal(mean, doubt, PROGRAM_FORECAST.p_fail), None, pairs[0]


_P_FAIL: Mapping[Reason, float] = {Reason.BUILD: CERTAIN, Reason.FAILED: 0.8, Reason.OUTPUTS: 0.8}


def _runnable(task: Task) -> Task:
    """The problem in a table's reference text, where there is one; the task itself otherwise."""
    if task.kind != "table":
        return task
    try:
        return kernelbench.from_text(task.references["torch"], task.name)
    except BadTask:
        return task
