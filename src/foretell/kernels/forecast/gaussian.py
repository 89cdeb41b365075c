"""A Gaussian process over features and text: a straight line in both, plus a smooth surface for what lines miss.

    k(a, b) = bias + line (a.f b.f / d_f + a.t b.t / d_t) + surface Matern32(|a - b|)

with f the standardised features, t the text and |a - b| the root mean square distance over both. How much of the
surface and how much noise there is comes from a small grid by marginal likelihood; the scale has an inverse-gamma
prior, so the spread is wide while there are few rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

BIAS = 1.0
LENGTH = 3.0
SURFACES = (0.0, 0.2, 0.5, 0.8)  # share of the surface; the lines share the rest
NOISES = (1e-3, 1e-2, 0.05, 0.2, 0.6, 2.0)  # variance of the noise in units of the scale
TYPICAL_NOISE, NOISE_SPREAD = 0.02, 2.0  # prior over the noise: a normal over its natural logarithm
PRIOR_ROWS = 6.0  # how many rows the prior over the scale is worth
GRID_ROWS = 256  # the grid is searched on this many latest rows at most; all rows are used for the fit


@dataclass(frozen=True)
class Points:
    """Rows as a kernel sees them: features (n, d_f) and text (n, d_t), each divided by the root of its width."""

    features: FloatArray
    text: FloatArray

    @classmethod
    def of(cls, features: FloatArray, text: FloatArray) -> Points:
        return cls(features / np.sqrt(max(1, features.shape[1])), text / np.sqrt(max(1, text.shape[1])))

    def __getitem__(self, index: NDArray[np.intp] | slice) -> Points:
        return Points(self.features[index], self.text[index])


@dataclass(frozen=True)
class Parts:
    """The two kernels between some rows and others, before they are weighed."""

    line: FloatArray
    surface: FloatArray

    @classmethod
    def between(cls, left: Points, right: Points) -> Parts:
        line = left.features @ right.features.T + left.text @ right.text.T
        squared = _norms(left)[:, None] + _norms(right)[None, :] - 2.0 * line
        distance = np.sqrt(3.0 * np.maximum(squared, 0.0)) / LENGTH
        return cls(line / 2.0, (1.0 + distance) * np.exp(-distance))

    def weighed(self, surface: float) -> FloatArray:
        return BIAS + (1.0 - surface) * self.line + surface * self.surface


def _norms(points: Points) -> FloatArray:
    return np.asarray((points.features**2).sum(axis=1) + (points.text**2).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Fit:
    """A fitted process. Rows are in journal order, which makes the one-step-ahead errors below meaningful.

    `ahead` are the errors of predicting each row from those before it, in predicted standard deviations (the Cholesky
    factor whitens the rows in order, so they cost nothing). `left_out` are predictions of each row from all others.
    """

    points: Points
    mean: float
    surface: float
    scale: float
    noise: float
    inverse: FloatArray
    weights: FloatArray
    ahead: FloatArray
    left_out: FloatArray

    def predict(self, points: Points) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (noise included) at new points."""
        cross = Parts.between(points, self.points).weighed(self.surface)
        own = BIAS + (1.0 - self.surface) * _norms(points) / 2.0 + self.surface
        explained = self.inverse @ cross.T
        variance = self.scale * np.maximum(own + self.noise - (explained**2).sum(axis=0), self.noise)
        return self.mean + cross @ self.weights, np.sqrt(variance)


def fit(points: Points, values: FloatArray, typical_std: float) -> Fit:
    """Fit to at least one row; `typical_std` is the spread of values to expect before seeing any."""
    mean = float(values.sum() / (values.size + 1.0))
    recent = slice(max(0, values.size - GRID_ROWS), values.size)
    parts = Parts.between(points[recent], points[recent])
    grid = [(surface, noise) for surface in SURFACES for noise in NOISES]
    scores = [_evidence(parts.weighed(s), n, values[recent] - mean, typical_std) for s, n in grid]
    surface, noise = grid[int(np.argmax(scores))]
    if recent.start:
        parts = Parts.between(points, points)
    inverse = np.linalg.inv(np.linalg.cholesky(parts.weighed(surface) + noise * np.eye(values.size)))
    white = inverse @ (values - mean)
    weights = inverse.T @ white
    scale = _scale(white, typical_std)
    left_out = values - weights / (inverse**2).sum(axis=0)
    return Fit(points, mean, surface, scale, noise, inverse, weights, white / np.sqrt(scale), left_out)


def _scale(white: FloatArray, typical_std: float) -> float:
    """Posterior mode-like estimate of the scale: (white . white + PRIOR_ROWS typical^2) / (n + PRIOR_ROWS)."""
    return float((white @ white + PRIOR_ROWS * typical_std**2) / (white.size + PRIOR_ROWS))


def _evidence(kernel: FloatArray, noise: float, residual: FloatArray, typical_std: float) -> float:
    """Log marginal likelihood with the scale integrated out, plus the noise's prior; up to a constant."""
    factor = np.linalg.cholesky(kernel + noise * np.eye(residual.size))
    white = np.linalg.solve(factor, residual)
    n = residual.size + PRIOR_ROWS
    prior = 0.5 * (np.log(noise / TYPICAL_NOISE) / NOISE_SPREAD) ** 2
    return float(-0.5 * n * np.log(_scale(white, typical_std)) - np.log(np.diag(factor)).sum() - prior)
