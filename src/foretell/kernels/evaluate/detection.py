"""Finding the few among the many: how well a score separates what is looked for from the rest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.belief import Forecast

_STEPS = (np.arange(64) + 0.5) / 64


def auroc(score: ArrayLike, positive: ArrayLike) -> float:
    """Return the chance that a random positive scores above a random negative, ties half; NaN without both kinds."""
    scores, truth = _pair(score, positive)
    n_positive = int(truth.sum())
    n_negative = truth.size - n_positive
    if not n_positive or not n_negative:
        return math.nan
    _, at, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2.0)[at]
    return float((ranks[truth].sum() - n_positive * (n_positive + 1) / 2.0) / (n_positive * n_negative))


def average_precision(score: ArrayLike, positive: ArrayLike) -> float:
    """Return the precision averaged over the recall that each threshold adds; NaN without a positive.

    Rows of equal score pass a threshold together, so a constant score earns the share of positives, no matter how rows
    are ordered.
    """
    scores, truth = _pair(score, positive)
    if not truth.any():
        return math.nan
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    found = np.cumsum(truth[order])[ends]
    gained = np.diff(found, prepend=0)
    return float((gained * found / (ends + 1)).sum() / found[-1])


def prob_faster(one: Forecast, other: Forecast) -> float:
    """Return the chance that `one` works and is faster than `other`, which is known to work; the two independent.

    Rounded to nine digits, so that equal forecasts give equal chances whatever their knots are.
    """
    above = 1.0 - one.cdf(other.quantile(_STEPS))
    return round((1.0 - one.p_fail) * float(above.mean()), 9)


def _pair(score: ArrayLike, positive: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    scores, truth = np.asarray(score, dtype=np.float64), np.asarray(positive, dtype=bool)
    if scores.ndim != 1 or scores.shape != truth.shape:
        raise ValueError(f"need a truth for each score, got shapes {scores.shape} and {truth.shape}")
    if np.isnan(scores).any():
        raise ValueError("a score is NaN; drop those rows first")
    return scores, truth
