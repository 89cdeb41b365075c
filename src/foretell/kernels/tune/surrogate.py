"""A Gaussian process over configurations: a curve for each parameter, plus a surface over all of them.

    k(a, b) = BIAS + CURVES a.b + surface Matern52(|a - b| / length)

with a.b the inner product of the curves' bases. Lengths, weights and noise are fixed: from a few dozen measurements,
fitting them found no faster configurations than these do, and cost most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.kernels.tune.encode import FloatArray, Points

BIAS = 1.0
CURVES = 0.125
SURFACE = 0.5
NOISE = 0.002
LENGTH = 0.4  # of one feature, times the root of how many there are: a typical distance grows likewise
PRIOR_ROWS = 4.0  # how many rows the prior over the scale is worth
LEAST_STD = 0.02  # no two configurations are expected to differ less than this, in doublings


@dataclass(frozen=True)
class Fit:
    """A fitted process over values (log2 times)."""

    points: Points
    surface: float
    mean: float
    scale: float
    inverse: FloatArray
    weights: FloatArray

    def predict(self, points: Points) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (of the value itself, without noise) at points."""
        cross = kernel(points, self.points, self.surface)
        own = BIAS + CURVES * (points.basis**2).sum(axis=1) + self.surface
        explained = cross @ self.inverse.T
        variance = self.scale * np.maximum(own - (explained**2).sum(axis=1), 1e-6)
        return self.mean + cross @ self.weights, np.sqrt(variance)


def kernel(a: Points, b: Points, weight: float) -> FloatArray:
    """Covariance of the rows of a with those of b, up to the scale; `weight` is the surface's."""
    squared = (a.features**2).sum(1)[:, None] + (b.features**2).sum(1)[None, :] - 2.0 * a.features @ b.features.T
    length = LENGTH * np.sqrt(max(1, a.features.shape[1]))
    distance = np.sqrt(5.0 * np.maximum(squared, 0.0)) / length
    surface = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    return np.asarray(BIAS + CURVES * (a.basis @ b.basis.T) + weight * surface, dtype=np.float64)


def fit(points: Points, values: FloatArray, mean: float, typical_std: float, surface: float = SURFACE) -> Fit:
    """Fit to one row or more; `mean` and `typical_std` are what to expect far from all of them."""
    centred = values - mean
    typical = max(typical_std, LEAST_STD)
    inverse = np.linalg.inv(np.linalg.cholesky(kernel(points, points, surface) + NOISE * np.eye(len(points))))
    white = inverse @ centred
    scale = float((white @ white + PRIOR_ROWS * typical**2) / (white.size + PRIOR_ROWS))
    return Fit(points, surface, mean, scale, inverse, inverse.T @ white)
