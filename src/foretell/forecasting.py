"""Forecasts of kernels that are not run: built for the CPU at hand, recorded for a GPU that need not be there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from foretell.errors import BadInput

if TYPE_CHECKING:
    from foretell.belief import Forecast
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.cost.tasks import Costed
    from foretell.kernels.device import Device
    from foretell.kernels.forecast import TrainedForecaster
    from foretell.kernels.forecast.recorded import Verdict
    from foretell.kernels.measurement import Measurement
    from foretell.kernels.protocols import Build, Forecaster, Subject
    from foretell.kernels.task import Task

INTERVAL = 0.8
ENOUGH = 20  # measurements made here, from which on `online` is better than what it corrects (docs/results/online.md)
RECORDERS = 1  # processes at a time: their server has torch imported, and answers in seconds


@dataclass(frozen=True)
class Prediction:
    """What is expected of one candidate on one device.

    `forecast` is the distribution; `speedup` its median if it works, `p_fail` the chance that it fails. `verdict` is
    what its recording showed, None if nothing was recorded; `why` what moved the forecast and which measured kernels
    are like it, where the forecaster can tell; `trouble` why the forecast is not the forecaster's own, if it is not.
    `caution` says what the forecaster has learnt from if that is unlike the device, else it is empty; `measured` is the
    user's catalogue's measurement of this very candidate on such a device, if there is one.
    """

    task: Task
    device: Device
    candidate: Candidate
    forecast: Forecast
    forecaster: str
    learnt_from: int = 0
    build: Build | None = None
    verdict: Verdict | None = None
    why: dict[str, Any] | None = None
    trouble: str | None = None
    trouble_words: str = ""
    caution: str = ""
    measured: Measurement | None = None

    @property
    def runs(self) -> bool:
        """False if it is known that it cannot run, or does not build."""
        return self.build is None or not self.build.status.is_failure

    @property
    def p_fail(self) -> float:
        return self.forecast.p_fail

    @property
    def p_fail_basis(self) -> str:
        """What the chance of failure rests on if it is a rate of such candidates; empty if it is the candidate's own.

        `program` costs what was recorded and does not judge the source, as `features` does: the two may be far apart.
        """
        found = self.verdict
        if self.forecaster not in ("program", "program:eager") or found is None:
            return ""
        if found.finding.value != "runs" or found.plain:
            return ""
        source = "by judgement" if self.candidate.language == "triton" else "measured of CUDA by language models"
        return f"the rate of {self.candidate.language} kernels whose recording shows nothing wrong, {source}"

    @property
    def speedup(self) -> float | None:
        """The median speedup if it works; None if it cannot."""
        return float(2.0**self.forecast.median) if self.runs else None

    def prob_above(self, speedup: float) -> float:
        """The chance that it works and is faster than that."""
        return self.forecast.prob_above(speedup) if self.runs else 0.0

    def interval(self, level: float = INTERVAL) -> tuple[float, float]:
        """The central interval of the speedup, if it works."""
        low, high = self.forecast.interval(level)
        return float(2.0**low), float(2.0**high)

    def __repr__(self) -> str:
        head = f"{self.task.name} on {self.device.name}"
        if not self.runs:
            return f"<forecast of {head}: {self.build.message.splitlines()[0] if self.build else 'cannot run'}>"
        low, high = self.interval()
        return (
            f"<forecast of {head}: {self.speedup:.2f}x ({low:.2f} to {high:.2f} at {INTERVAL:.0%}), "
            f"{self.p_fail:.0%} chance that it fails>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        from foretell.belief import label

        if not self.runs:
            return f"<pre>{escape(repr(self))}</pre>"
        bins = self.forecast.bins()
        rows = "".join(
            f"<tr><td>{label(i)}</td><td><span style='display:inline-block;height:.7em;background:#3a7;"
            f"width:{100 * share / max(bins):.0f}px'></span> {share:.0%}</td></tr>"
            for i, share in enumerate(bins)
        )
        return f"<p>{escape(repr(self))}</p><table>{rows}</table>"


def device_named(name: str) -> Device:
    """The described GPU of that name; BadInput lists those there are."""
    from foretell.kernels.devices import UnknownDevice, described, gpus

    try:
        found = described(name)
    except UnknownDevice as error:
        raise BadInput(str(error), f"one of {', '.join(gpus())}") from error
    if found.kind != "gpu":
        raise BadInput(f"{name} is not a GPU", "a GPU, or no --device for this machine's CPU")
    return found


def usual_forecaster(task: Task, language: str, source_only: bool) -> str:
    """The forecaster for a GPU: the trained one knows Triton and CUDA kernels of the library, recordings all else."""
    known = task.kind == "library" and language != "torch"
    return "features" if known or source_only or find_spec("torch") is None else "program"


def forecast_on_cpu(
    task: Task, candidates: Sequence[Candidate], device: Device, forecaster: Forecaster, builds: Sequence[Build | None]
) -> list[Prediction]:
    """Forecasts for this machine's CPU by a forecaster that learns from what was measured here before."""
    from foretell.kernels.protocols import Subject
    from foretell.parts import catalogue

    known = catalogue().lessons(task, device)
    forecaster.learn(task, device, known)
    subjects = [Subject(candidate, build) for candidate, build in zip(candidates, builds, strict=True)]
    forecasts = forecaster.forecast(task, device, subjects)
    troubles = _troubles(forecaster, len(subjects))
    caution = _caution(forecaster, device, len(known))
    measured = {subject.candidate.id: measurement for subject, measurement in known}
    return [
        Prediction(
            task, device, subject.candidate, forecast, forecaster.name, len(known), subject.build,
            trouble=trouble, trouble_words=words, caution=caution, measured=measured.get(subject.candidate.id),
        )
        for subject, forecast, (trouble, words) in zip(subjects, forecasts, troubles, strict=True)
    ]  # fmt: skip


def forecast_on_gpu(
    task: Task,
    candidates: Sequence[Candidate],
    device: Device,
    forecaster: Forecaster,
    source_only: bool = False,
    reference_us: float | None = None,
) -> list[Prediction]:
    """Forecasts for a GPU that need not be there.

    The reference and each candidate are recorded at the first workload, in processes of their own. What the reference
    does is the work of a task that is not in the library; a candidate that fails by itself cannot run. Without torch,
    or with `source_only`, forecasts come from the source alone.
    """
    from foretell.kernels.forecast import CalibratedForecaster, ProgramForecaster
    from foretell.kernels.forecast.recorded import Finding, adjusted
    from foretell.kernels.protocols import Subject
    from foretell.parts import catalogue

    verdicts: list[Verdict | None] = [None] * len(candidates)
    shift_log2 = 0.0
    measured = {
        subject.candidate.id: measurement
        for subject, where, measurement in catalogue().of_task(task)
        if where.startswith(f"{device.name} | ")
    }
    if source_only or find_spec("torch") is None:
        builds = [parsed(candidate) for candidate in candidates]
    else:
        costs, builds, verdicts = _recorded(task, candidates, device, reference_us)
        task, shift_log2 = costs.task, _shift_log2(costs, device, reference_us)
    subjects = [Subject(candidate, build) for candidate, build in zip(candidates, builds, strict=True)]
    forecasts = forecaster.forecast(task, device, subjects)
    troubles = _troubles(forecaster, len(subjects))
    reasons = _reasons(forecaster, task, device, subjects)
    told = zip(subjects, forecasts, verdicts, reasons, troubles, strict=True)
    predictions = []
    records = isinstance(forecaster, ProgramForecaster | CalibratedForecaster)
    for subject, forecast, found, why, (trouble, words) in told:
        if found is not None:
            forecast = adjusted(forecast, found, recorded=records)
            if records:
                trouble, words = None, ""  # the verdict says why there is no recording
                forecast = forecast.shifted(shift_log2 if found.finding is Finding.RUNS else 0.0)
            if found.finding is Finding.SAME:
                why = None
        prediction = Prediction(
            task, device, subject.candidate, forecast, forecaster.name, 0, subject.build, found, why, trouble, words,
            measured=measured.get(subject.candidate.id),
        )  # fmt: skip
        predictions.append(prediction)
    return predictions


def _shift_log2(costs: Costed, device: Device, reference_us: float | None) -> float:
    """How far the known time of the reference is from the estimate, in doublings; 0 if either is missing."""
    from foretell.kernels.cost.apart import NotAnalysed, times_apart

    program = costs.reference.program
    if reference_us is None or program is None:
        return 0.0
    try:
        [times] = times_apart([program], device)
    except NotAnalysed:
        return 0.0
    return math.log2(reference_us / times.device_us)


def _recorded(
    task: Task, candidates: Sequence[Candidate], device: Device, reference_us: float | None
) -> tuple[Costed, list[Build | None], list[Verdict | None]]:
    from foretell.kernels.cost.recordings import recording_of
    from foretell.kernels.cost.tasks import costed
    from foretell.kernels.forecast.recorded import build_of, verdict

    workload = task.workloads[0]
    builds: list[Build | None] = []
    verdicts: list[Verdict | None] = []
    with ThreadPoolExecutor(RECORDERS) as pool:
        reference = pool.submit(costed, task, device, reference_us)
        asked = [
            None if parsed(candidate) else
            pool.submit(recording_of, task, workload, candidate.source, candidate.language, device)
            for candidate in candidates
        ]  # fmt: skip
        costs = reference.result()
        for candidate, future in zip(candidates, asked, strict=True):
            if future is None:
                builds.append(parsed(candidate))
                verdicts.append(None)
                continue
            recording = future.result()
            found = verdict(costs.reference, recording)
            builds.append(build_of(recording, found, device))
            verdicts.append(found)
    return costs, builds, verdicts


def parsed(candidate: Candidate) -> Build | None:
    """What is known before any build: text that is not Python will not build. None if there is nothing to say."""
    from foretell.kernels.languages.extension import is_bare
    from foretell.kernels.measurement import Status
    from foretell.kernels.protocols import Build
    from foretell.kernels.python_text import tree

    if is_bare(candidate.source):
        return None
    try:
        tree(candidate.source)
    except SyntaxError as error:
        return Build(Status.COMPILE_ERROR, f"not a Python module: {error.msg} (line {error.lineno})")
    except (ValueError, RecursionError, MemoryError) as error:
        return Build(Status.COMPILE_ERROR, f"not a Python module: {error}")
    return None


def _caution(forecaster: Forecaster, device: Device, measured_here: int) -> str:
    """What a trained model has learnt from, if no kernel was measured on such a device and few were measured here."""
    model = _trained(forecaster)
    devices = () if model is None else model.devices(device.kind)
    if not devices or device.name in devices or measured_here >= ENOUGH:
        return ""
    return (
        f"the model has learnt from kernels on {', '.join(devices)}, and none on a device that is named as this one, "
        f"{device.name}: if it is another processor, the speedup may well lie outside the interval"
    )


def _trained(forecaster: Forecaster) -> TrainedForecaster | None:
    """The trained model that a forecaster is, or builds upon."""
    from foretell.kernels.forecast import TrainedForecaster

    if isinstance(forecaster, TrainedForecaster):
        return forecaster
    inner = (_trained(each) for each in getattr(forecaster, "wrapped", ()))
    return next((each for each in inner if each is not None), None)


def _troubles(forecaster: Forecaster, count: int) -> list[tuple[str | None, str]]:
    """For each forecast why it is not the forecaster's own, where it told so; a language model may have no answer."""
    troubles = list(getattr(forecaster, "last_troubles", ())) or [None] * count
    reasons = list(getattr(forecaster, "last_reasons", ())) or [None] * count
    return [(why, words or "") for why, words in zip(troubles, reasons, strict=False)]


def _reasons(
    forecaster: Forecaster, task: Task, device: Device, subjects: Sequence[Subject]
) -> list[dict[str, Any] | None]:
    """Why each forecast is as it is, where the forecaster can tell."""
    from foretell.kernels.forecast import TrainedForecaster
    from foretell.kernels.forecast.explain import explain
    from foretell.kernels.forecast.roofline import build_failed

    if not isinstance(forecaster, TrainedForecaster):
        return [None] * len(subjects)
    return [None if build_failed(s) else asdict(explain(forecaster, task, device, s)) for s in subjects]
