"""How honest the forecasts of one run were, in numbers that still mean something for a few dozen measurements.

A run measures tens of candidates, so a classic reliability diagram would have a handful of points a bin. What is shown
instead uses every point at every level: the share of measured speedups that the central 10 %, 20 %, ... 90 % intervals
held, beside the range that a perfect forecaster would land in by luck alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from foretell.belief import Forecast, ece, failure_brier, outcome_of, outcome_probs, top_label

INTERVAL = 0.8
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BEYOND_LUCK = 2  # levels on one side of the band; a perfect forecaster gets there in one run of twenty (simulated)
FEWEST = 5  # below this many measured speedups a coverage curve says nothing


@dataclass(frozen=True)
class Pair:
    """A forecast and the speedup then measured, in log2; `low` to `high` is the 80 % interval."""

    median: float
    low: float
    high: float
    measured: float
    audit: bool
    tip: str

    @property
    def covered(self) -> bool:
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Coverage:
    """The interval of level `promised` held the share `kept`; luck alone explains `luck_low` to `luck_high`."""

    promised: float
    kept: float
    luck_low: float
    luck_high: float


@dataclass(frozen=True)
class Judged:
    """One forecast made before its measurement, and what came: a speedup, or None for a failure."""

    forecast: Forecast
    speedup: float | None
    audit: bool
    tip: str = ""


@dataclass(frozen=True)
class Calibration:
    """The summary of all judged forecasts; fields are None where there was nothing to judge."""

    n: int
    n_speedups: int
    pairs: tuple[Pair, ...]
    coverages: tuple[Coverage, ...]
    ece: float | None
    kept_80: float | None
    bias_log2: float | None
    error_log2: float | None
    failures_expected: float
    failures_seen: int
    failure_brier: float | None


def calibrate(judged: Sequence[Judged]) -> Calibration:
    """Judge forecasts against what was measured; infrastructure faults must have been left out."""
    worked = [(j, math.log2(j.speedup)) for j in judged if j.speedup is not None]
    pairs = tuple(_pair(j, measured) for j, measured in worked)
    misses = [pair.measured - pair.median for pair in pairs]
    failed = [j.speedup is None for j in judged]
    calibration_error = brier = None
    if judged:
        probs = outcome_probs([j.forecast for j in judged])
        calibration_error = ece(*top_label(probs, outcome_of([j.speedup for j in judged])))
        brier = float(failure_brier([j.forecast.p_fail for j in judged], failed).mean())
    return Calibration(
        n=len(judged),
        n_speedups=len(worked),
        pairs=pairs,
        coverages=coverages([j.forecast.cdf(measured) for j, measured in worked]),
        ece=calibration_error,
        kept_80=sum(pair.covered for pair in pairs) / len(pairs) if pairs else None,
        bias_log2=statistics.median(misses) if misses else None,
        error_log2=statistics.median(abs(miss) for miss in misses) if misses else None,
        failures_expected=sum(j.forecast.p_fail for j in judged),
        failures_seen=sum(failed),
        failure_brier=brier,
    )


def coverages(pit: Sequence[float]) -> tuple[Coverage, ...]:
    """Coverage of the central interval at each level; `pit` holds each forecast's CDF at what was measured."""
    if not pit:
        return ()
    found = []
    for level in LEVELS:
        kept = sum((1 - level) / 2 <= value <= (1 + level) / 2 for value in pit) / len(pit)
        low, high = binomial_range(len(pit), level)
        found.append(Coverage(level, kept, low / len(pit), high / len(pit)))
    return tuple(found)


def binomial_range(n: int, p: float, mass: float = 0.95) -> tuple[int, int]:
    """The central range of successes in n draws that holds at least `mass` of the probability."""
    tail = (1.0 - mass) / 2.0
    reached, low, high = 0.0, n, n
    for k in range(n + 1):
        log_term = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        reached += math.exp(log_term + k * math.log(p) + (n - k) * math.log1p(-p))
        if reached > tail and low == n:
            low = k
        if reached >= 1.0 - tail:
            high = k
            break
    return low, high


def _pair(judged: Judged, measured: float) -> Pair:
    low, high = judged.forecast.interval(INTERVAL)
    return Pair(judged.forecast.median, low, high, measured, judged.audit, judged.tip)
