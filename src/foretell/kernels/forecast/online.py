"""The online forecaster: what another forecaster says, corrected by what the run itself has shown so far.

Two Gaussian processes over static features, build features and text learn where the other one is wrong: one its errors
in log2 speedup among candidates that worked, one its errors in the chance of failure among all that ran. Before the
first measurement it says what the other one says; after many it says what the run's own measurements say.

Processes were chosen over forests, ridge and neighbours by replaying measured candidates: a line in text and features
ranks best from a handful of measurements, and takes a tenth of a forest's time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from foretell.belief import AdaptiveConformal, Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.forecast import gaussian
from foretell.kernels.forecast.columns import Columns, FloatArray, Row
from foretell.kernels.forecast.roofline import CERTAIN, build_failed
from foretell.kernels.forecast.static import describe
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.task import Task

OWN_COST_S = 1e-3  # seconds a forecast on top of the base's
BASE_ROWS = 2.0  # how many measurements the base's own forecast is worth in the blend
MAX_ROWS = 1500  # latest measurements that are learnt from; the cost grows with the cube
LEAST_STD_LOG2 = 0.05  # no two measurements of one candidate agree better than this on a busy machine
MOST_STD_LOG2 = 1.0  # errors are not expected to differ more than this within a task, however unsure the base is
TREND = 0.4  # weight of the base's mean as a column: the base may exaggerate, or understate, what sets candidates apart
TREND_CLIP = 4.0  # in standard deviations, as for the other columns

BUILD_ROWS = 3.0  # how many builds have to fail before half of the unbuilt are expected to
FAILURE_STD = 0.4  # how far the base's chance of failure is apt to be off
SLOPES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)  # how far an error of the chance moves its logit
SLOPE_PENALTY = 0.3  # nats a unit of slope: few rows should not move it far
LEAST_HIT = 1e-3  # no single row counts for more than ln 1000 when the slope is chosen

_Measured = Sequence[tuple[Subject, Measurement]]

_UNIT = Forecast.from_normal(0.0, 1.0, 0.0)


class OnlineForecaster:
    """Learns in a run where `base` is wrong, with intervals that follow its own errors in that run.

    `base` is taught nothing but the reference's times: what it says of a measured candidate is then what it would have
    said before, and it is asked about each only once. A failed build is a near-certain failure of that candidate and of
    nothing else. Deterministic in `base`, `seed` and the list last given to `learn`; a fit costs milliseconds at 40
    measurements and about a second at 1000.
    """

    def __init__(self, base: Forecaster, seed: int = 0, name: str | None = None) -> None:
        self.name = f"online:{base.name}" if name is None else name
        self.cost_s = base.cost_s + OWN_COST_S
        self._base = base
        self._seed = seed
        self._taught: tuple[str, str, tuple[Timing, ...]] | None = None
        self._said: dict[object, Forecast] = {}
        self._model: _Model | None = None
        self._build_failures = 0.0

    @property
    def wrapped(self) -> tuple[Forecaster, ...]:
        """The forecaster that this one corrects."""
        return (self._base,)

    @property
    def troubles(self) -> Mapping[str, int]:
        """The base's troubles, where it counts any."""
        found: Mapping[str, int] = getattr(self._base, "troubles", {})
        return found

    @property
    def last_troubles(self) -> tuple[str | None, ...]:
        found: tuple[str | None, ...] = getattr(self._base, "last_troubles", ())
        return found

    def learn(self, task: Task, device: Device, measured: _Measured) -> None:
        """Learn from all measurements of the run, in journal order; what was learnt before is forgotten."""
        judged = [(subject, m) for subject, m in measured if m.status.is_failure or math.isfinite(m.log2_speedup)]
        ran = [(s, m) for s, m in judged if m.status is not Status.COMPILE_ERROR and not build_failed(s)]
        self._build_failures = (len(judged) - len(ran)) / (len(judged) + BUILD_ROWS)
        self._teach(task, device, measured)
        self._model = None
        if ran := ran[-MAX_ROWS:]:
            lessons = [*_reference(task, ran), *ran]
            said = self._remembered(task, device, [subject for subject, _ in lessons])
            with _threads().limit(limits=1):
                self._model = _Model.fit(task, device, lessons, said, len(lessons) - len(ran), self._seed)

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        if not subjects:
            return []
        said = self._base.forecast(task, device, subjects)
        self.cost_s = self._base.cost_s + OWN_COST_S
        if self._model is not None and self._model.is_about(task, device):
            with _threads().limit(limits=1):
                said = self._model.corrected(subjects, said)
        return [self._given_build(subject, forecast) for subject, forecast in zip(subjects, said, strict=True)]

    def _teach(self, task: Task, device: Device, measured: _Measured) -> None:
        """Tell the base the reference's times, as those of a candidate just as fast: the first that were taken.

        Times that moved with every measurement would make all that the base has said out of date.
        """
        timed = [m.timings for _, m in measured if m.timings and m.status is not Status.INFRASTRUCTURE][:1]
        taught = (task.identity, device.id, timed[0] if timed else ())
        if taught == self._taught:
            return
        self._taught, self._said = taught, {}
        lessons = []
        for timings in timed:
            even = tuple(Timing(t.workload, t.reference_us, t.reference_us, 1.0, 1.0, 1.0) for t in timings)
            language = next(iter(task.references), "")
            reference = Candidate(task.key, language, task.references.get(language, ""), Origin("reference"))
            outcome = Measurement(Status.OK, speedup=1.0, low=1.0, high=1.0, timings=even)
            lessons.append((Subject(reference), outcome))
        self._base.learn(task, device, lessons)

    def _remembered(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        """What the base says of each; those it has been asked about since it was taught cost nothing."""
        keys = [_key(subject) for subject in subjects]
        fresh = {key: subject for key, subject in zip(keys, subjects, strict=True) if key not in self._said}
        if fresh:
            self._said |= zip(fresh, self._base.forecast(task, device, list(fresh.values())), strict=True)
        self._said = {key: self._said[key] for key in keys}
        return [self._said[key] for key in keys]

    def _given_build(self, subject: Subject, forecast: Forecast) -> Forecast:
        """The forecast given what is known of the build: failed, done, or not yet tried."""
        if build_failed(subject):
            return replace(forecast, p_fail=CERTAIN)
        if subject.build is None:
            p_fail = 1.0 - (1.0 - forecast.p_fail) * (1.0 - self._build_failures)
            return replace(forecast, p_fail=min(p_fail, max(forecast.p_fail, CERTAIN)))
        return forecast


@dataclass(frozen=True)
class _Model:
    """What one `learn` left behind, for one task on one device. `speed` is None where nothing has worked yet."""

    task: str
    device: str
    columns: Columns
    centre: float
    spread: float
    speed: gaussian.Fit | None
    widening: float
    failure: gaussian.Fit
    slope: float
    n_worked: int

    @classmethod
    def fit(
        cls, task: Task, device: Device, lessons: _Measured, said: Sequence[Forecast], given: int, seed: int
    ) -> _Model:
        """Fit to what was measured and what the base said of it; the first `given` lessons were free."""
        rows = [_row(subject) for subject, _ in lessons]
        columns = Columns.fit(rows, seed)
        plain = gaussian.Points.of(columns.features(rows), columns.text(rows))
        means = np.array([forecast.mean for forecast in said])
        centre, spread = float(means[given:].mean()), float(means[given:].std())
        values = np.array([m.log2_speedup if m.ok else np.nan for _, m in lessons])
        works = np.isfinite(values)
        speed, widening = None, 1.0
        if works.any():
            points = _with_trend(plain, means, centre, spread)[np.flatnonzero(works)]
            typical = math.sqrt(np.mean([forecast.std**2 for forecast in said]))
            speed = gaussian.fit(points, (values - means)[works], min(MOST_STD_LOG2, typical))
            widening = _widening(speed.ahead[given:])
        chances = np.array([forecast.p_fail for forecast in said])
        failure = gaussian.fit(plain, ~works - chances, FAILURE_STD)
        slope = _slope(~works, _logit(chances), failure.left_out)
        worked = int(works[given:].sum())
        return cls(task.identity, device.id, columns, centre, spread, speed, widening, failure, slope, worked)

    def is_about(self, task: Task, device: Device) -> bool:
        return (self.task, self.device) == (task.identity, device.id)

    def corrected(self, subjects: Sequence[Subject], said: Sequence[Forecast]) -> list[Forecast]:
        """What the base said, moved by its expected error; blended with the base's own word, which fades."""
        rows = [_row(subject) for subject in subjects]
        plain = gaussian.Points.of(self.columns.features(rows), self.columns.text(rows))
        off, _ = self.failure.predict(plain)
        chances = _chance(_logit(np.array([forecast.p_fail for forecast in said])) + self.slope * off)
        own = [replace(base, p_fail=p) for base, p in zip(said, np.clip(chances, 1.0 - CERTAIN, CERTAIN), strict=True)]
        if self.speed is None:
            return own
        means = np.array([forecast.mean for forecast in said])
        errors, stds = self.speed.predict(_with_trend(plain, means, self.centre, self.spread))
        stds = np.hypot(self.widening * stds, LEAST_STD_LOG2)
        weights = [float(self.n_worked), BASE_ROWS]
        return [
            Forecast.mixture([Forecast.from_normal(mean, std, base.p_fail), base], weights)
            for base, mean, std in zip(own, (means + errors).tolist(), stds.tolist(), strict=True)
        ]


@cache
def _threads() -> ThreadpoolController:
    """Limits linear algebra to one thread: the sums then do not depend on the number of cores, and matrices this small
    are slower on several, by far so while a device or a compiler keeps the cores busy."""
    return ThreadpoolController()


def _row(subject: Subject) -> Row:
    candidate = subject.candidate
    return Row(describe(candidate.source, candidate.language), {} if subject.build is None else subject.build.features)


def _key(subject: Subject) -> object:
    candidate, build = subject.candidate, subject.build
    built = None if build is None else (build.status, frozenset(build.features.items()))
    return candidate.language, candidate.source, candidate.origin.kind, built


def _reference(task: Task, ran: _Measured) -> list[tuple[Subject, Measurement]]:
    """The reference in the first candidate's language, a free lesson: it works and its speedup is 1.

    None where there is none in that language, or it is among the measured.
    """
    language = ran[0][0].candidate.language
    if language not in task.references:
        return []
    reference = Candidate(task.key, language, task.references[language], Origin("reference"))
    if any(subject.candidate.id == reference.id for subject, _ in ran):
        return []
    return [(Subject(reference), Measurement(Status.OK, speedup=1.0))]


def _with_trend(points: gaussian.Points, means: FloatArray, centre: float, spread: float) -> gaussian.Points:
    """Points with one more column, the base's mean; it says nothing where the base says the same of all."""
    trend = np.clip((means - centre) / spread, -TREND_CLIP, TREND_CLIP) if spread > 1e-9 else np.zeros(means.size)
    return gaussian.Points(np.column_stack([points.features, TREND * trend]), points.text)


def _widening(ahead: FloatArray) -> float:
    """How much to widen, by the errors of forecasting each row from those before it, in predicted deviations."""
    calibrator = AdaptiveConformal()
    for error in ahead.tolist():
        calibrator = calibrator.update(_UNIT, error)
    return calibrator.scale


def _slope(failed: FloatArray, logits: FloatArray, left_out: FloatArray) -> float:
    """The slope for which the chances forecast best for rows that were left out, by log loss."""
    signs = np.where(failed, 1.0, -1.0)

    def loss(slope: float) -> float:
        hits = np.maximum(_chance(signs * (logits + slope * left_out)), LEAST_HIT)
        return float(-np.log(hits).sum() + SLOPE_PENALTY * slope)

    return min(SLOPES, key=loss)


def _logit(chances: FloatArray) -> FloatArray:
    inside = np.clip(chances, 1.0 - CERTAIN, CERTAIN)
    return np.asarray(np.log(inside / (1.0 - inside)))


def _chance(logits: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))
