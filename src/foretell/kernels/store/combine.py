"""Several measurements of one candidate as one: random-effects pooling of log speedups.

Each speedup is weighted by its precision, known from its 95 % interval. Where measurements disagree by more than their
intervals allow, the variance between them is estimated and added to each (DerSimonian and Laird, "Meta-analysis in
clinical trials", Controlled Clinical Trials 7, 1986): the weights become more even and the interval widens. Where they
agree, this is the inverse-variance weighted mean.

Statuses: the majority of ok against failures; on a tie it failed, because a candidate that fails every other time is
not one to use. Among failures the most frequent status counts, of equally frequent ones the latest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foretell.kernels.measurement import DISAGREE, Measurement, Status

_Z_95 = 1.959964
LEAST_STANDARD_ERROR = 1e-3  # of log speedup: no timing here is more exact, whatever its samples say


@dataclass(frozen=True)
class Pooled:
    """A pooled speedup with its 95 % interval; `between_sd` is the spread between measurements in log speedup."""

    speedup: float
    low: float
    high: float
    between_sd: float


def majority(statuses: Sequence[Status]) -> Status:
    """The status that several measurements of one candidate, oldest first, amount to."""
    failures = [status for status in statuses if status is not Status.OK]
    if 2 * len(failures) < len(statuses):
        return Status.OK
    counts = Counter(failures)
    most = max(counts.values())
    return next(status for status in reversed(failures) if counts[status] == most)


def pool(intervals: Sequence[tuple[float, float, float]]) -> Pooled:
    """Pool (speedup, low, high) triples, each positive; at least one."""
    logs = [math.log(speedup) for speedup, _, _ in intervals]
    errors = [max((math.log(high) - math.log(low)) / (2 * _Z_95), LEAST_STANDARD_ERROR) for _, low, high in intervals]
    weights = [error**-2 for error in errors]
    mean = _weighted_mean(logs, weights)
    total = sum(weights)
    heterogeneity = sum(weight * (value - mean) ** 2 for weight, value in zip(weights, logs, strict=True))
    excess = heterogeneity - (len(logs) - 1)
    between = 0.0
    if excess > 0 and len(logs) > 1:
        between = excess / (total - sum(weight**2 for weight in weights) / total)
        weights = [1.0 / (error**2 + between) for error in errors]
        mean = _weighted_mean(logs, weights)
    half = _Z_95 / math.sqrt(sum(weights))
    return Pooled(math.exp(mean), math.exp(mean - half), math.exp(mean + half), math.sqrt(between))


def combine(measurements: Sequence[Measurement]) -> Measurement:
    """One measurement for several of the same candidate on the same device, oldest first; at least one.

    Speedup and interval are pooled; everything else (timings, cost, conditions, message) is that of the latest with the
    resulting status. `conditions["combined"]` says how many there were, and `conditions["disagree"]` whether their
    intervals do not all overlap. A single measurement is returned as it is.
    """
    latest = measurements[-1]
    if len(measurements) == 1:
        return latest
    status = majority([measurement.status for measurement in measurements])
    same = [measurement for measurement in measurements if measurement.status is status]
    latest = same[-1]
    conditions = {**latest.conditions, "combined": len(measurements)}
    triples = [(m.speedup, m.low, m.high) for m in same if m.speedup and m.low and m.high]
    if status is not Status.OK or not triples:
        return replace(latest, conditions=conditions)
    pooled = pool(triples)
    apart = max(low for _, low, _ in triples) > min(high for _, _, high in triples)
    conditions[DISAGREE] = apart or any(measurement.processes_disagree for measurement in same)
    return replace(
        latest,
        speedup=pooled.speedup,
        low=pooled.low,
        high=pooled.high,
        stopped_early=all(measurement.stopped_early for measurement in same),
        conditions=conditions,
    )


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
