"""Proper scoring rules: how good a forecast was once the outcome is known. Lower is better everywhere.

How a failure scores. A candidate that fails has no speedup, so

- rules over bins and over log2 speedup (`half_brier`, `ranked_probability_score`, `log_loss`, `crps`, `pinball`) score
  the distribution *given success* and are to be fed only the candidates that worked;
- `failure_brier` and `failure_log_loss` score `p_fail` on every candidate;
- `outcome_half_brier` scores both at once on every candidate, over nine outcomes: the eight bins, each times
  `1 - p_fail`, and failure, whose index is `FAILURE`.

Infrastructure faults say nothing about a candidate: leave those rows out of all of them.

Rules over bins take `probs` of shape (n, k) and `outcome`, the n bins that came true, and return n scores. A single
row of probabilities counts as n = 1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief._arrays import FloatArray, IntArray, classes, distributions, flags, unit_vector, vector, vectors
from foretell.belief.bins import N_BINS, bin_of
from foretell.belief.forecast import Forecast

FAILURE = N_BINS  # the index of failure among the nine outcomes
LOG_FLOOR = 1e-4  # a probability below this scores as if it were this, so one zero does not swamp a whole mean


def half_brier(probs: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Return half the Brier score, sum_k (p_k - 1[k = outcome])^2 / 2, in [0, 1]; strictly proper."""
    p, hit = _pair(probs, outcome)
    p[np.arange(len(hit)), hit] -= 1.0
    return np.asarray((p * p).sum(axis=1) / 2.0, dtype=np.float64)


def ranked_probability_score(probs: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Return the RPS, sum over inner edges of (CDF - 1[outcome below edge])^2: the CRPS over bins; strictly proper.

    In units of bins: being certain of a bin that is j bins away scores j.
    """
    p, hit = _pair(probs, outcome)
    reached = np.arange(p.shape[1] - 1)[None, :] >= hit[:, None]
    return np.asarray(((np.cumsum(p, axis=1)[:, :-1] - reached) ** 2).sum(axis=1), dtype=np.float64)


def log_loss(probs: ArrayLike, outcome: ArrayLike, floor: float = LOG_FLOOR) -> FloatArray:
    """Return -ln p of what came true, p raised to `floor` if below it; proper among forecasts that stay above it."""
    _check_floor(floor)
    p, hit = _pair(probs, outcome)
    return np.asarray(-np.log(np.maximum(p[np.arange(len(hit)), hit], floor)), dtype=np.float64)


def crps(forecast: Forecast, observed_log2: float) -> float:
    """Return the CRPS, the integral of (CDF(x) - 1[x >= observed])^2 over log2 speedup; exact and strictly proper.

    In units of log2 speedup; for a forecast that is nearly a point it is the absolute error.
    """
    if not -np.inf < observed_log2 < np.inf:
        raise ValueError(f"the observed log2 speedup must be a finite number, got {observed_log2!r}")
    x, f = forecast.knots, forecast.levels
    if observed_log2 <= x[0]:
        return (x[0] - observed_log2) + _squared([1.0 - level for level in f], x)
    if observed_log2 >= x[-1]:
        return (observed_log2 - x[-1]) + _squared(f, x)
    i, at = bisect_left(x, observed_log2), forecast.cdf(float(observed_log2))
    below = _squared((*f[:i], at), (*x[:i], observed_log2))
    return below + _squared([1.0 - level for level in (at, *f[i:])], (observed_log2, *x[i:]))


def crps_each(forecasts: Sequence[Forecast], observed_log2: ArrayLike) -> FloatArray:
    """Return the CRPS of each forecast against its own observation."""
    observed = vector("observed_log2", observed_log2)
    return np.array([crps(f, y) for f, y in zip(forecasts, observed.tolist(), strict=True)])


def pinball(level: float, predicted: ArrayLike, observed: ArrayLike) -> FloatArray:
    """Return the pinball loss of predicted quantiles at one level: level x shortfall, or (1 - level) x overshoot.

    Proper for that quantile; twice its mean over all levels is the CRPS.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"a quantile level must lie strictly between 0 and 1, got {level!r}")
    guess, truth = vectors("predicted observed", predicted, observed)
    short = truth - guess
    return np.maximum(level * short, (level - 1.0) * short)


def failure_brier(p_fail: ArrayLike, failed: ArrayLike) -> FloatArray:
    """Return (p_fail - failed)^2 for each candidate, in [0, 1]; strictly proper."""
    p = unit_vector("p_fail", p_fail)
    return np.asarray((p - flags("failed", failed, p.size)) ** 2, dtype=np.float64)


def failure_log_loss(p_fail: ArrayLike, failed: ArrayLike, floor: float = LOG_FLOOR) -> FloatArray:
    """Return -ln of the probability given to what happened, failure or success, raised to `floor` if below it."""
    _check_floor(floor)
    p = unit_vector("p_fail", p_fail)
    happened = np.where(flags("failed", failed, p.size) == 1.0, p, 1.0 - p)
    return np.asarray(-np.log(np.maximum(happened, floor)), dtype=np.float64)


def outcome_probs(forecasts: Sequence[Forecast]) -> FloatArray:
    """Return the probabilities of the nine outcomes, shape (n, 9): (1 - p_fail) x bins, then p_fail."""
    bins = np.array([f.bins() for f in forecasts])
    p_fail = np.array([f.p_fail for f in forecasts])[:, None]
    return np.hstack(((1.0 - p_fail) * bins, p_fail))


def outcome_of(speedups: Sequence[float | None]) -> IntArray:
    """Return the index of what happened: the bin of each speedup, or `FAILURE` where it is None."""
    return np.array([FAILURE if speedup is None else bin_of(speedup) for speedup in speedups], dtype=np.int64)


def outcome_half_brier(forecasts: Sequence[Forecast], outcome: ArrayLike) -> FloatArray:
    """Return half the Brier score over the nine outcomes, failures included; strictly proper for p_fail and bins."""
    return half_brier(outcome_probs(forecasts), outcome)


def _pair(probs: ArrayLike, outcome: ArrayLike) -> tuple[FloatArray, IntArray]:
    p = distributions("probs", probs)
    return p, classes("outcome", outcome, *p.shape)


def _squared(heights: Sequence[float], places: Sequence[float]) -> float:
    """Integrate the square of a piecewise-linear function."""
    total = 0.0
    for i in range(1, len(places)):
        a, b = heights[i - 1], heights[i]
        total += (places[i] - places[i - 1]) * (a * a + a * b + b * b)
    return total / 3.0


def _check_floor(floor: float) -> None:
    if not 0.0 < floor < 1.0:
        raise ValueError(f"the floor must lie strictly between 0 and 1, got {floor!r}")
