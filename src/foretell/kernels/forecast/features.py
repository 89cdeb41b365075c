"""The feature forecaster: learns from a run's own measurements what in source and machine code makes candidates fast.

Two Gaussian processes over the same columns: one for log2 speedup among candidates that worked, one for failure among
all that ran. The reference is a free observation of both: it works, and its log2 speedup is 0. (Within a run the task
and the device are constant, so they enter by way of the prior, and the reference by way of that observation.)

Processes were chosen over forests, ridge and neighbours by replaying measured candidates: a line in text and features
ranks best from a handful of measurements, and takes a tenth of a forest's time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np
from threadpoolctl import ThreadpoolController

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.forecast import gaussian
from foretell.kernels.forecast.columns import Columns, FloatArray, Row
from foretell.kernels.forecast.roofline import CERTAIN, RooflineForecaster, build_failed
from foretell.kernels.forecast.static import describe
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.task import Task

TYPICAL_STD_LOG2 = 1.0  # spread of log2 speedup within a task before anything is known
WIDE_STD_LOG2 = 1.5  # the same, where not even the reference has been timed
PRIOR_ROWS = 2.0  # how many measurements the prior forecast is worth in the blend
MAX_ROWS = 1500  # latest measurements that are learnt from; the cost grows with the cube
LEAST_STD_LOG2 = 0.05  # no two measurements of one candidate agree better than this on a busy machine

DOUBT, DOUBT_ROWS = 1.5, 4.0  # mean squared error (in predicted variances) to start from, and how many rows it is worth
HALF_LIFE_ROWS = 40.0  # the search moves on, so older errors say less about the next

FAILURE_ROWS = 3.0  # how many measurements the prior chance of failure is worth
SLOPES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # how steeply a failure score turns into a chance
SLOPE_PENALTY = 0.02  # per squared log of the slope: few rows should not make it steep
LEAST_HIT = 1e-3  # no single row counts for more than ln 1000 when the slope is chosen

_Measured = Sequence[tuple[Subject, Measurement]]

_normal_cdf = np.vectorize(NormalDist().cdf, otypes=[np.float64])


class FeatureForecaster:
    """Forecasts from static and build features, with a spread that follows its own past errors.

    `prior` (the roofline if not given) speaks before the first measurement and fades as they come in. A failed build is
    a near-certain failure of that candidate and of nothing else. Deterministic in `prior`, `seed` and the list last
    given to `learn`; a fit costs milliseconds at 40 measurements and well under a second at 1000.
    """

    name = "features"
    cost_s = 1e-3

    def __init__(self, prior: Forecaster | None = None, seed: int = 0) -> None:
        self._prior: Forecaster = RooflineForecaster() if prior is None else prior
        self._seed = seed
        self._model: _Model | None = None
        self._build_failures = 0.0

    def learn(self, task: Task, device: Device, measured: _Measured) -> None:
        """Learn from all measurements of the run, in journal order; what was learnt before is forgotten."""
        self._prior.learn(task, device, measured)
        judged = [(subject, m) for subject, m in measured if m.status.is_failure or math.isfinite(m.log2_speedup)]
        ran = [(s, m) for s, m in judged if m.status is not Status.COMPILE_ERROR and not build_failed(s)]
        self._build_failures = (len(judged) - len(ran)) / (len(judged) + FAILURE_ROWS)
        with _threads().limit(limits=1):
            self._model = _Model.fit(task, device, ran[-MAX_ROWS:], self._seed) if ran else None

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        if not subjects:
            return []
        priors = self._prior.forecast(task, device, subjects)
        if self._model is None or not self._model.is_about(task, device):
            wide = [Forecast.from_normal(0.0, WIDE_STD_LOG2, prior.p_fail) for prior in priors]
            blends = [Forecast.mixture(pair) for pair in zip(priors, wide, strict=True)]
        else:
            with _threads().limit(limits=1):
                blends = self._model.forecast(subjects, priors)
        return [self._given_build(subject, blend) for subject, blend in zip(subjects, blends, strict=True)]

    def _given_build(self, subject: Subject, forecast: Forecast) -> Forecast:
        """The forecast given what is known of the build: failed, done, or not yet tried."""
        if build_failed(subject):
            return replace(forecast, p_fail=CERTAIN)
        if subject.build is None:
            p_fail = 1.0 - (1.0 - forecast.p_fail) * (1.0 - self._build_failures)
            return replace(forecast, p_fail=min(p_fail, CERTAIN))
        return forecast


@dataclass(frozen=True)
class _Model:
    """What one `learn` left behind, for one task on one device."""

    task: str
    device: str
    columns: Columns
    speed: gaussian.Fit
    widening: float
    failure: gaussian.Fit | None
    slope: float
    n_ran: int
    n_failed: int

    @classmethod
    def fit(cls, task: Task, device: Device, ran: _Measured, seed: int) -> _Model:
        reference = _unmeasured_reference(task, ran)
        rows = [_row(subject) for subject in (*reference, *(subject for subject, _ in ran))]
        values = np.array([0.0] * len(reference) + [m.log2_speedup if m.ok else np.nan for _, m in ran])
        works = np.isfinite(values)
        columns = Columns.fit(rows, seed)
        points = gaussian.Points.of(columns.features(rows), columns.text(rows))
        if works.any():
            speed = gaussian.fit(points[np.flatnonzero(works)], values[works], TYPICAL_STD_LOG2)
        else:
            speed = gaussian.fit(points[:1], np.zeros(1), TYPICAL_STD_LOG2)
        failure, slope = None, 1.0
        if not works.all():
            signs = np.where(works, -1.0, 1.0)
            failure = gaussian.fit(points, signs, 1.0)
            slope = _slope(signs, failure.left_out)
        widening = _widening(speed.ahead[len(reference) :])
        failed = int((~works).sum())
        return cls(task.name, device.id, columns, speed, widening, failure, slope, len(ran), failed)

    def is_about(self, task: Task, device: Device) -> bool:
        return (self.task, self.device) == (task.name, device.id)

    def forecast(self, subjects: Sequence[Subject], priors: Sequence[Forecast]) -> list[Forecast]:
        """The model's own forecasts, each blended with its prior, which is worth `PRIOR_ROWS` measurements."""
        rows = [_row(subject) for subject in subjects]
        points = gaussian.Points.of(self.columns.features(rows), self.columns.text(rows))
        means, stds = self.speed.predict(points)
        stds = self.widening * np.sqrt(stds**2 + LEAST_STD_LOG2**2)
        chances = self._chances(points, np.array([prior.p_fail for prior in priors]))
        weights = [float(self.n_ran - self.n_failed), PRIOR_ROWS]
        found = []
        for prior, mean, std, p_fail in zip(priors, means.tolist(), stds.tolist(), chances.tolist(), strict=True):
            own = Forecast.from_normal(mean, std, p_fail)
            found.append(Forecast.mixture([own, replace(prior, p_fail=p_fail)], weights))
        return found

    def _chances(self, points: gaussian.Points, priors: FloatArray) -> FloatArray:
        """Chance of failure: Phi(slope score), drawn towards the share that failed and the prior's chance."""
        trust = self.n_ran / (self.n_ran + FAILURE_ROWS)
        chances = trust * self.n_failed / self.n_ran + (1.0 - trust) * priors
        if self.failure is not None:
            score, _ = self.failure.predict(points)
            chances = trust * _normal_cdf(self.slope * score) + (1.0 - trust) * chances
        return np.clip(chances, 1.0 - CERTAIN, CERTAIN)


@cache
def _threads() -> ThreadpoolController:
    """Limits linear algebra to one thread: the sums then do not depend on the number of cores, and matrices this small
    are slower on several, by far so while a device or a compiler keeps the cores busy."""
    return ThreadpoolController()


def _row(subject: Subject) -> Row:
    candidate = subject.candidate
    return Row(describe(candidate.source, candidate.language), {} if subject.build is None else subject.build.features)


def _unmeasured_reference(task: Task, ran: _Measured) -> list[Subject]:
    """The reference in the first candidate's language; none if there is none, or it is among the measured."""
    language = ran[0][0].candidate.language
    if language not in task.references:
        return []
    reference = Candidate(task.name, language, task.references[language], Origin("reference"))
    return [] if any(subject.candidate.id == reference.id for subject, _ in ran) else [Subject(reference)]


def _widening(ahead: FloatArray) -> float:
    """Root mean square of the one-step-ahead errors, in predicted deviations; an error's weight halves with age."""
    weights = 0.5 ** (np.arange(ahead.size)[::-1] / HALF_LIFE_ROWS)
    return float(np.sqrt((weights @ ahead**2 + DOUBT_ROWS * DOUBT) / (weights.sum() + DOUBT_ROWS)))


def _slope(signs: FloatArray, left_out: FloatArray) -> float:
    """The slope for which Phi(slope score) forecasts best for rows that were left out, by log loss."""

    def loss(slope: float) -> float:
        hits = np.maximum(_normal_cdf(signs * left_out * slope), LEAST_HIT)
        return float(-np.log(hits).mean() + SLOPE_PENALTY * np.log(slope) ** 2)

    return min(SLOPES, key=loss)
