"""Calibration: does 70 % happen seven times in ten, and what to do when it does not.

Measured by reliability tables and the expected calibration error (ECE); mended by temperature scaling of bin
probabilities or by isotonic regression of any single probability (such as `p_fail`). Both mends are small values that
apply themselves and go to and from a dict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief._arrays import FloatArray, classes, distributions, flags, unit_vector, vector, vectors

RELIABILITY_BINS = 10
_PROB_FLOOR = 1e-6  # a zero has no logarithm to scale
_LOG_TEMPERATURE_RANGE = (math.log(0.05), math.log(20.0))
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Reliability:
    """A reliability table over equal-width bins of confidence; in an empty bin confidence and accuracy are NaN."""

    count: tuple[int, ...]
    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]

    @property
    def ece(self) -> float:
        """The expected calibration error: |accuracy - confidence| averaged over rows, in [0, 1]."""
        rows = zip(self.count, self.confidence, self.accuracy, strict=True)
        return sum(n * abs(accuracy - confidence) for n, confidence, accuracy in rows if n) / sum(self.count)


def reliability(confidence: ArrayLike, correct: ArrayLike, n_bins: int = RELIABILITY_BINS) -> Reliability:
    """Return the reliability table of stated confidences against what came true (booleans), in `n_bins` bins.

    Bins are [i/n, (i+1)/n); a confidence of exactly 1 counts in the last.
    """
    if n_bins < 1:
        raise ValueError(f"need at least one bin, got {n_bins}")
    stated = unit_vector("confidence", confidence)
    right = flags("correct", correct, stated.size)
    at = np.minimum((stated * n_bins).astype(np.int64), n_bins - 1)
    count = np.bincount(at, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(at, weights=column, minlength=n_bins) / count for column in (stated, right)]
    return Reliability(tuple(count.tolist()), tuple(means[0].tolist()), tuple(means[1].tolist()))


def ece(confidence: ArrayLike, correct: ArrayLike, n_bins: int = RELIABILITY_BINS) -> float:
    """Return the expected calibration error of stated confidences against what came true."""
    return reliability(confidence, correct, n_bins).ece


def top_label(probs: ArrayLike, outcome: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the confidence in each row's likeliest class, and 1.0 where it came true (ties: the lowest class)."""
    p = distributions("probs", probs)
    hit = classes("outcome", outcome, *p.shape)
    return np.asarray(p.max(axis=1), dtype=np.float64), (p.argmax(axis=1) == hit).astype(np.float64)


def all_classes(probs: ArrayLike, outcome: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return every stated probability of every class, flattened row by row, and 1.0 where that class came true."""
    p = distributions("probs", probs)
    hit = classes("outcome", outcome, *p.shape)
    return p.ravel(), (np.arange(p.shape[1])[None, :] == hit[:, None]).astype(np.float64).ravel()


def classwise_ece(probs: ArrayLike, outcome: ArrayLike, n_bins: int = RELIABILITY_BINS) -> float:
    """Return the classwise ECE (Kull et al. 2019): the ECE of each class's own probability, averaged over classes."""
    k = np.atleast_2d(np.asarray(probs)).shape[-1]
    stated, true = (column.reshape(-1, k) for column in all_classes(probs, outcome))
    return float(np.mean([ece(stated[:, i], true[:, i], n_bins) for i in range(k)]))


@dataclass(frozen=True)
class Temperature:
    """Temperature scaling: p_k becomes p_k^(1/t) / sum. Above 1 it takes confidence away, below 1 it adds some."""

    t: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.t < math.inf:
            raise ValueError(f"a temperature must be a positive number, got {self.t!r}")

    def apply(self, probs: ArrayLike) -> FloatArray:
        """Return rescaled probabilities of the same shape, (n, k) or (k,); each row keeps its order and sums to one."""
        p = _scaled(np.log(np.maximum(distributions("probs", probs), _PROB_FLOOR)), self.t)
        return p.reshape(np.shape(probs))

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-able form."""
        return {"t": self.t}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Temperature:
        """Make the temperature that `as_dict` described."""
        return cls(float(data["t"]))


def fit_temperature(probs: ArrayLike, outcome: ArrayLike) -> Temperature:
    """Return the temperature in [0.05, 20] that minimises log loss, by golden-section search.

    Log loss is convex in 1/t, so the search cannot be caught in a local minimum.
    """
    p = distributions("probs", probs)
    hit = classes("outcome", outcome, *p.shape)
    logs, rows = np.log(np.maximum(p, _PROB_FLOOR)), np.arange(len(hit))

    def loss(log_t: float) -> float:
        scaled = logs / math.exp(log_t)
        top = scaled.max(axis=1)
        return float((top + np.log(np.exp(scaled - top[:, None]).sum(axis=1)) - scaled[rows, hit]).mean())

    low, high = _LOG_TEMPERATURE_RANGE
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    loss_a, loss_b = loss(a), loss(b)
    while high - low > 1e-5:
        if loss_a <= loss_b:
            high, b, loss_b = b, a, loss_a
            a = high - _GOLDEN * (high - low)
            loss_a = loss(a)
        else:
            low, a, loss_a = a, b, loss_b
            b = low + _GOLDEN * (high - low)
            loss_b = loss(b)
    return Temperature(math.exp((low + high) / 2.0))


@dataclass(frozen=True)
class Isotonic:
    """A non-decreasing map from stated to calibrated values: straight lines between `x`, flat beyond the ends."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.x or len(self.x) != len(self.y):
            raise ValueError(f"need a y for each x, got {len(self.x)} and {len(self.y)}")
        if not all(self.x[i] < self.x[i + 1] and self.y[i] <= self.y[i + 1] for i in range(len(self.x) - 1)):
            raise ValueError("x must strictly increase and y never decrease")

    def apply(self, values: ArrayLike) -> FloatArray:
        """Return the calibrated values, in the shape that was given."""
        return np.asarray(np.interp(np.asarray(values, dtype=np.float64), self.x, self.y), dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-able form."""
        return {"x": list(self.x), "y": list(self.y)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Isotonic:
        """Make the map that `as_dict` described."""
        return cls(tuple(data["x"]), tuple(data["y"]))


def fit_isotonic(stated: ArrayLike, observed: ArrayLike, weights: ArrayLike | None = None) -> Isotonic:
    """Return the non-decreasing least-squares fit of observed on stated, by pooling adjacent violators.

    Rows with equal stated values are averaged first. Weights, if given, must be positive.
    """
    x, y = vectors("stated observed", stated, observed)
    w = np.ones(x.size) if weights is None else vector("weights", weights)
    if w.size != x.size or w.min() <= 0.0:
        raise ValueError("weights must be positive, one for each row")
    places, at = np.unique(x, return_inverse=True)
    mass = np.bincount(at, weights=w)
    means = np.bincount(at, weights=w * y) / mass
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of places pooled
    for mean, weight in zip(means.tolist(), mass.tolist(), strict=True):
        length = 1
        while pools and pools[-1][0] >= mean:
            last_mean, last_weight, last_length = pools.pop()
            mean = (mean * weight + last_mean * last_weight) / (weight + last_weight)
            weight, length = weight + last_weight, length + last_length
        pools.append((mean, weight, length))
    fitted = np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])
    # A pool is flat, so only its two ends are worth keeping.
    keep = np.ones(places.size, dtype=bool)
    keep[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    return Isotonic(tuple(places[keep].tolist()), tuple(fitted[keep].tolist()))


def _scaled(logs: FloatArray, t: float) -> FloatArray:
    powers = np.exp((logs - logs.max(axis=1, keepdims=True)) / t)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)
