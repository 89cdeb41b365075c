"""The forecaster `program`: reference and candidate are recorded as Programs, and every step of both gets a time.

Physics only: nothing is learnt from speedups. Doubt comes from the steps that the two do not share. What cannot be
recorded or analysed is forecast by the roofline alone, with the reason in `last_troubles`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

from foretell.belief import Forecast
from foretell.kernels.cost.apart import NotAnalysed, times_apart
from foretell.kernels.cost.recordings import recording_of
from foretell.kernels.cost.settings import PROGRAM_FORECAST, RECORDED
from foretell.kernels.cost.steps import ProgramTime
from foretell.kernels.device import Device
from foretell.kernels.forecast.recorded import Finding, verdict
from foretell.kernels.forecast.roofline import CERTAIN, RooflineForecaster, build_failed
from foretell.kernels.measurement import Measurement
from foretell.kernels.program import Program
from foretell.kernels.protocols import Subject
from foretell.kernels.record.refusal import Reason, Recording, is_own_fault
from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks import BadTask, kernelbench

PROBLEM = "problem"  # name of any task in a table, so that its reference is recorded once


@dataclass(frozen=True)
class Compared:
    """A candidate's Program beside its reference's: log2 of the speedup, and its standard deviation."""

    reference: ProgramTime
    candidate: ProgramTime
    log2: float
    doubt_log2: float
    eager_log2: float


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


def _p_fail(language: str) -> float:
    """The chance of failure of a candidate whose recording shows nothing wrong."""
    return PROGRAM_FORECAST.triton_p_fail if language == "triton" else PROGRAM_FORECAST.p_fail


class ProgramForecaster:
    """Forecasts the ratio of device times (graph replay, cold cache) by recording and costing Programs.

    Host code is executed, once per candidate, in a process of its own, and what it recorded is analysed in another, as
    many at a time as there are cores; recordings and times are kept on disk. `learn` changes nothing. With `eager` the
    ratio of eager times is forecast instead, for comparison with times measured so.
    Of the candidates of the last `forecast`, `last_troubles` says why one has no estimate of its own, `refusals` has
    the reason if it is in the candidate's recording, and `compared` has the times of those that do.
    """

    cost_s = 5.0

    def __init__(self, eager: bool = False) -> None:
        self.name = "program:eager" if eager else "program"
        self._eager = eager
        self._roofline = RooflineForecaster()
        self.last_troubles: list[str | None] = []
        self.refusals: list[Reason | None] = []
        self.compared: list[Compared | None] = []

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Nothing is learnt: times are physics'."""

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        fallback = self._roofline.forecast(task, device, subjects)
        references = _references(task, device)
        with ThreadPoolExecutor(min(os.cpu_count() or 1, max(1, len(subjects)))) as pool:
            both = list(pool.map(lambda *each: self._one(device, references, *each), subjects, fallback))
        self.refusals, told = [refusal for refusal, _ in both], [each for _, each in both]
        self.last_troubles = [reason for _, reason, _ in told]
        self.compared = [pair for _, _, pair in told]
        return [forecast for forecast, _, _ in told]

    def _one(
        self, device: Device, references: Sequence[_Reference], subject: Subject, wide: Forecast
    ) -> tuple[Reason | None, tuple[Forecast, str | None, Compared | None]]:
        """Why a candidate has no Program, and what is told of it; its recordings are not kept."""
        recorded = _recorded(references, device, subject)
        if isinstance(recorded, str):
            return None, (wide, recorded, None)
        refusal = _refusal(recorded)
        try:
            return refusal, self._told(device, references, recorded, wide, _p_fail(subject.candidate.language))
        except NotAnalysed as error:
            return refusal, (wide, str(error), None)

    def _told(
        self,
        device: Device,
        references: Sequence[_Reference],
        recordings: Sequence[Recording],
        wide: Forecast,
        p_fail: float,
    ) -> tuple[Forecast, str | None, Compared | None]:
        known: list[ProgramTime] = []
        options: list[Sequence[Program]] = []
        for reference, recording in zip(references, recordings, strict=False):
            if reference.times is None or recording.program is None:
                mine = recording.refusal
                blamed = mine is not None and is_own_fault(mine)
                chance = _P_FAIL.get(mine.reason, wide.p_fail) if mine and blamed else wide.p_fail
                refused = reference.trouble or str(reference.recording.refusal or mine)
                return Forecast(chance, wide.knots, wide.levels), refused, None
            found = verdict(reference.recording, recording)
            if found.finding is Finding.CANNOT_RUN:
                return Forecast(CERTAIN, wide.knots, wide.levels), found.sentence, None
            if found.plain:
                p_fail = min(p_fail, RECORDED.operators_p_fail)
            known.append(reference.times)
            options.append((recording.program, *recording.alternatives[: PROGRAM_FORECAST.alternatives]))
        times = iter(times_apart([program for each in options for program in each], device))
        pairs: list[Compared] = []
        for reference_times, programs in zip(known, options, strict=True):
            fastest = min(islice(times, len(programs)), key=lambda time: time.device_us)
            pairs.append(compared_times(reference_times, fastest))
        mean = fmean(pair.eager_log2 if self._eager else pair.log2 for pair in pairs)
        doubt = fmean(pair.doubt_log2 for pair in pairs)
        return Forecast.from_normal(mean, doubt, p_fail), None, pairs[0]


@dataclass(frozen=True)
class _Reference:
    """The reference at one workload: what was recorded, and its times; `trouble` says why it has none if it has a
    Program."""

    task: Task
    workload: Workload
    recording: Recording
    times: ProgramTime | None
    trouble: str = ""


def _references(task: Task, device: Device) -> list[_Reference]:
    """The reference at the workloads that are forecast; none if it is known from a table alone and cannot be run."""
    found: list[_Reference] = []
    if task.kind == "table":
        try:
            task = kernelbench.from_text(task.references["torch"], PROBLEM)
        except BadTask:
            return found
    for workload in task.workloads[: PROGRAM_FORECAST.workloads] if device.kind == "gpu" else ():
        recording = recording_of(task, workload, None, "torch", device)
        times, trouble = None, ""
        if recording.program is not None:
            try:
                [times] = times_apart([recording.program], device)
            except NotAnalysed as error:
                trouble = f"the reference: {error}"
        found.append(_Reference(task, workload, recording, times, trouble))
    return found


def _recorded(references: Sequence[_Reference], device: Device, subject: Subject) -> str | list[Recording]:
    """Recordings of a candidate at each workload, up to the first that fails; or why there are none."""
    if device.kind != "gpu":
        return "programs are recorded for GPUs only"
    if build_failed(subject):
        return "it does not build"
    if not references:
        return "the table has no reference that can be run"
    found = []
    for each in references:
        found.append(recording_of(each.task, each.workload, subject.executed, subject.candidate.language, device))
        if each.times is None or not found[-1].ok:
            break
    return found


def _refusal(recordings: Sequence[Recording]) -> Reason | None:
    """Why a candidate has no Program."""
    found = [each.refusal for each in recordings if each.refusal is not None]
    return found[0].reason if found else None


_P_FAIL: Mapping[Reason, float] = {Reason.BUILD: CERTAIN, Reason.FAILED: 0.8, Reason.OUTPUTS: 0.8}
