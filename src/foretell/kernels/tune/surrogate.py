"""A Gaussian process over configurations: a curve for each parameter, plus a surface over all of them.

    k(a, b) = BIAS + CURVES a.b + surface Matern52(|a - b| / length)

with a.b the inner product of the curves' bases. Lengths, weights and noise are fixed: from a few dozen measurements,
fitting them found no faster configurations than these do, and cost most of the time. As they are fixed, a row seen adds
one row to a Cholesky factor, and what is known of all other points follows at a cost that is linear in both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.tune.encode import FloatArray, Points

BIAS = 1.0
CURVES = 0.125
SURFACE = 0.5
NOISE = 0.002
LENGTH = 0.4  # of one feature, times the root of how many there are: a typical distance grows likewise
PRIOR_ROWS = 4.0  # how many rows the prior over the scale is worth
LEAST_STD = 0.02  # no two configurations are expected to differ less than this, in doublings


class Process:
    """A process over `points` that has seen `rows` of them, one after the other."""

    def __init__(self, points: Points, surface: float = SURFACE) -> None:
        self.rows: list[int] = []
        self._points = points
        self._surface = surface
        self._variance = BIAS + CURVES * points.variances() + surface  # what is left of it, up to the scale
        self._factor = np.zeros((16, 16))
        self._cross: NDArray[np.float32] = np.zeros((16, len(points)), dtype=np.float32)  # factor^-1 k(rows, points)

    def see(self, row: int) -> None:
        """Take in that a row was measured; what came out is given to `predict`."""
        count = len(self.rows)
        if count == len(self._factor):
            self._factor = np.pad(self._factor, (0, count))
            self._cross = np.concatenate([self._cross, np.zeros_like(self._cross)])
        covariance = self._covariance(row)
        known = self._cross[:count, row].astype(np.float64)
        own = np.sqrt(max(float(covariance[row] - known @ known), 0.0) + NOISE)
        self._factor[count, : count + 1] = [*known, own]
        new = (covariance - known.astype(np.float32) @ self._cross[:count]) / own
        self._cross[count] = new
        self._variance -= new**2
        self.rows.append(row)

    def predict(self, values: FloatArray, mean: float, typical_std: float) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (without noise) at all points, from the rows' values, in the rows' order.

        `mean` and `typical_std` are what to expect far from all rows.
        """
        count = len(self.rows)
        white = np.linalg.solve(self._factor[:count, :count], values - mean)
        typical = max(typical_std, LEAST_STD)
        scale = float((white @ white + PRIOR_ROWS * typical**2) / (count + PRIOR_ROWS))
        expected = mean + (white.astype(np.float32) @ self._cross[:count]).astype(np.float64)
        return expected, np.sqrt(scale * np.maximum(self._variance, 1e-6))

    def _covariance(self, row: int) -> FloatArray:
        """Of one row with all points, up to the scale."""
        points = self._points
        length = LENGTH * np.sqrt(max(1, points.width))
        distance = np.sqrt(5.0 * points.squared_distances(row)) / length
        surface = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
        return np.asarray(BIAS + CURVES * points.covariances(row) + self._surface * surface, dtype=np.float64)
