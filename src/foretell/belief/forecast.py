"""One type for what is believed about a candidate: its chance of failure and a distribution over its log2 speedup."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import le, lt
from statistics import NormalDist
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief import bins as _bins
from foretell.belief._arrays import SUM_TOLERANCE, FloatArray, vector

MAX_KNOTS = 65  # a mixture keeps at most this many knots, so mixtures of mixtures stay small
MIN_GAP = 1e-6  # closest two knots may come in log2 speedup; far below what any clock can tell apart
MIN_STD = 1e-4  # log2; a distribution this narrow stands for certainty

MAX_ABS_LOG2 = 1e6  # beyond this a log2 speedup is a mistake, and MIN_GAP would drown in rounding
_SAMPLE_KNOTS = 33
_LEAST_MASS = 1e-4  # of a bin, for what a forecast says of the places within it to mean anything
_TAIL_STRETCH = 2.5  # how much thinner than its neighbour the tail beyond the outermost quantile is, as for a normal


def _unit_normal() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Knots and levels that stand for a standard normal.

    The levels are the normal's own at hand-picked places; the knots are then drawn in by the 1.4 % that straight
    segments overstate the spread, so mean, median and standard deviation are exact and the CDF is within 0.0035.
    """
    half = (0.4, 0.75, 1.1, 1.45, 1.8, 2.2, 2.7, 3.6)
    places = (*(-z for z in reversed(half)), 0.0, *half)
    levels = (0.0, *(NormalDist().cdf(z) for z in places[1:-1]), 1.0)
    spread = math.sqrt(_variance(places, levels, 0.0))
    return tuple(z / spread for z in places), levels


def _variance(knots: Sequence[float], levels: Sequence[float], mean: float) -> float:
    total = 0.0
    for i in range(1, len(knots)):
        a, b = knots[i - 1] - mean, knots[i] - mean
        total += (levels[i] - levels[i - 1]) * (a * a + a * b + b * b) / 3.0
    return total


_NORMAL_KNOTS, _NORMAL_LEVELS = _unit_normal()


@dataclass(frozen=True)
class Forecast:
    """Chance of failure, and a piecewise-linear CDF over log2 speedup given success.

    `knots` (log2 speedups) increase strictly; `levels` are the CDF there, from 0.0 to 1.0 and never decreasing. Between
    knots the CDF is a straight line, so every read below is exact. Flat ends are trimmed, so `knots[0]` and `knots[-1]`
    are the ends of the support. A value: immutable, hashable, JSON-able. ValueError on anything else.
    """

    p_fail: float
    knots: tuple[float, ...]
    levels: tuple[float, ...]

    def __post_init__(self) -> None:
        p_fail = float(self.p_fail)
        knots, levels = tuple(map(float, self.knots)), tuple(map(float, self.levels))
        if not 0.0 <= p_fail <= 1.0:
            raise ValueError(f"p_fail must lie in [0, 1], got {p_fail!r}")
        if len(knots) < 2 or len(knots) != len(levels):
            raise ValueError(f"need two or more knots and a level for each, got {len(knots)} and {len(levels)}")
        # Written so that a NaN fails the comparison.
        if not all(map(lt, knots, knots[1:])):
            raise ValueError("knots must be numbers that strictly increase")
        if not all(map(le, levels, levels[1:])):
            raise ValueError("levels must be numbers that never decrease")
        if levels[0] != 0.0 or levels[-1] != 1.0:
            raise ValueError(f"levels must run from 0 to 1, got {levels[0]!r} to {levels[-1]!r}")
        if knots[0] < -MAX_ABS_LOG2 or knots[-1] > MAX_ABS_LOG2:
            raise ValueError(f"log2 speedups from {knots[0]:g} to {knots[-1]:g} are beyond anything that can be meant")
        first, last = bisect_right(levels, 0.0) - 1, bisect_left(levels, 1.0) + 1
        object.__setattr__(self, "p_fail", p_fail)
        object.__setattr__(self, "knots", knots[first:last])
        object.__setattr__(self, "levels", levels[first:last])

    @classmethod
    def from_bins(cls, probs: Sequence[float] | FloatArray, p_fail: float) -> Forecast:
        """Make a forecast from the eight bin probabilities given success, each spread evenly in log2 over its bin.

        They must sum to one within rounding. The open-ended bins are taken to end at 1/16x and 16x.
        """
        masses = [float(prob) for prob in probs]
        if len(masses) != _bins.N_BINS or not all(0.0 <= mass <= 1.0 + SUM_TOLERANCE for mass in masses):
            raise ValueError(f"need {_bins.N_BINS} probabilities in [0, 1], got {masses}")
        sums = [0.0]
        for mass in masses:
            sums.append(sums[-1] + mass)
        if abs(sums[-1] - 1.0) > SUM_TOLERANCE:
            raise ValueError(f"bin probabilities sum to {sums[-1]:g}, not to 1")
        return cls(p_fail, _bins.BOUNDS_LOG2, tuple(level / sums[-1] for level in sums))

    @classmethod
    def from_quantiles(cls, levels: Sequence[float], values: Sequence[float], p_fail: float) -> Forecast:
        """Make a forecast whose `quantile(levels[i])` is `values[i]` (log2), for two or more rising levels in [0, 1].

        Values must not decrease; equal ones are parted by `MIN_GAP`. Where level 0 or 1 is not given, a tail is added
        beyond the outermost quantile at 1/2.5 of the density next to it, about as heavy as a normal's.
        """
        at, marks = [float(value) for value in values], [float(level) for level in levels]
        if len(at) != len(marks) or len(at) < 2:
            raise ValueError(f"need two or more quantiles and a level for each, got {len(at)} and {len(marks)}")
        if not all(map(lt, marks, marks[1:])) or marks[0] < 0.0 or marks[-1] > 1.0:
            raise ValueError(f"quantile levels must strictly increase within [0, 1], got {marks}")
        if not all(map(le, at, at[1:])):
            raise ValueError(f"quantile values must be numbers that never decrease, got {at}")
        at = list(_parted(at))
        low_gap = _TAIL_STRETCH * (at[1] - at[0]) / (marks[1] - marks[0])
        high_gap = _TAIL_STRETCH * (at[-1] - at[-2]) / (marks[-1] - marks[-2])
        if marks[0] > 0.0:
            at, marks = [at[0] - marks[0] * low_gap, *at], [0.0, *marks]
        if marks[-1] < 1.0:
            at, marks = [*at, at[-1] + (1.0 - marks[-1]) * high_gap], [*marks, 1.0]
        return cls(p_fail, _parted(at), tuple(marks))

    @classmethod
    def from_normal(cls, mean: float, std: float, p_fail: float) -> Forecast:
        """Make a forecast with this mean and std in log2 and the shape of a normal: 17 knots out to 3.5 std.

        Mean, median and std are exact, the CDF is within 0.0035 of the normal's. std below `MIN_STD` is raised to it.
        """
        if not (math.isfinite(mean) and math.isfinite(std) and std >= 0.0):
            raise ValueError(f"need a finite mean and a std that is not negative, got {mean!r} and {std!r}")
        mean, std = float(mean), max(float(std), MIN_STD)
        return cls(p_fail, tuple([mean + std * z for z in _NORMAL_KNOTS]), _NORMAL_LEVELS)

    @classmethod
    def from_samples(cls, samples: ArrayLike, p_fail: float, width: float | None = None) -> Forecast:
        """Make a forecast from draws of log2 speedup, each blurred into a box with standard deviation `width`.

        Without a width it is Silverman's, 0.9 min(std, IQR/1.34) n^(-1/5), and at least 0.01 (0.7 % in speedup). Exact
        for up to 16 draws; for more the CDF is exact at 33 knots, closer together in the tails.
        """
        draws = np.sort(vector("samples", samples))
        if width is None:
            q1, q3 = np.quantile(draws, (0.25, 0.75))
            spreads = [spread for spread in (float(draws.std()), float(q3 - q1) / 1.34) if spread > 0.0]
            width = max(0.01, 0.9 * min(spreads, default=0.0) * float(draws.size) ** -0.2)
        if not (math.isfinite(width) and width >= MIN_STD):
            raise ValueError(f"the smoothing width must be a number of at least {MIN_STD:g}, got {width!r}")
        half = math.sqrt(3.0) * width
        ends = np.unique(np.concatenate((draws - half, draws + half)))
        if ends.size > _SAMPLE_KNOTS:
            ranks = (1.0 - np.cos(np.linspace(0.0, math.pi, _SAMPLE_KNOTS))) / 2.0
            ends = ends[np.unique(np.rint(ranks * (ends.size - 1)).astype(np.int64))]
        levels = np.clip((ends[:, None] - draws[None, :] + half) / (2.0 * half), 0.0, 1.0).mean(axis=1)
        return cls(p_fail, _parted(ends.tolist()), _closed(levels))

    @classmethod
    def mixture(cls, forecasts: Sequence[Forecast], weights: Sequence[float] | None = None) -> Forecast:
        """Blend forecasts as a linear pool; weights (equal if not given) need not sum to one.

        `p_fail` is the weighted mean. Given success, forecast i weighs `w_i (1 - p_fail_i)`, as Bayes' rule has it.
        Exact up to `MAX_KNOTS` distinct knots; past that the CDF is exact at the `MAX_KNOTS` that are kept.
        """
        shares = [1.0] * len(forecasts) if weights is None else [float(weight) for weight in weights]
        total = sum(shares)
        if len(shares) != len(forecasts) or not all(share >= 0.0 for share in shares) or not 0.0 < total < math.inf:
            raise ValueError("a mixture needs a weight for each forecast, none negative and not all zero")
        p_fail = min(1.0, sum(w * f.p_fail for w, f in zip(shares, forecasts, strict=True)) / total)
        given = [w * (1.0 - f.p_fail) for w, f in zip(shares, forecasts, strict=True)]
        if sum(given) <= 0.0:
            given = shares
        knots = np.unique(np.concatenate([f.knots for f, w in zip(forecasts, given, strict=True) if w > 0.0]))
        if knots.size > MAX_KNOTS:
            knots = knots[np.rint(np.linspace(0, knots.size - 1, MAX_KNOTS)).astype(np.int64)]
        levels = np.zeros(knots.size)
        for f, w in zip(forecasts, given, strict=True):
            levels += w * np.interp(knots, f.knots, f.levels)
        return cls(p_fail, _parted(knots.tolist()), _closed(levels))

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: FloatArray) -> FloatArray: ...
    def cdf(self, x: float | FloatArray) -> float | FloatArray:
        """Return the probability, given success, that log2 speedup is at most x (a number or an array)."""
        if isinstance(x, np.ndarray):
            return np.interp(x, self.knots, self.levels)
        if math.isnan(x):
            raise ValueError("the CDF of NaN was asked for")
        i = bisect_right(self.knots, x)
        if i == 0 or i == len(self.knots):
            return 0.0 if i == 0 else 1.0
        x0, x1, f0, f1 = self.knots[i - 1], self.knots[i], self.levels[i - 1], self.levels[i]
        return f0 + (f1 - f0) * ((x - x0) / (x1 - x0))

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: FloatArray) -> FloatArray: ...
    def quantile(self, q: float | FloatArray) -> float | FloatArray:
        """Return the least log2 speedup whose CDF reaches q, for q in [0, 1]; of uniform draws it makes samples."""
        if isinstance(q, np.ndarray):
            if not ((q >= 0.0) & (q <= 1.0)).all():
                raise ValueError("quantile levels must lie in [0, 1]")
            knots, levels = np.asarray(self.knots), np.asarray(self.levels)
            at = np.clip(np.searchsorted(levels, q, side="left"), 1, levels.size - 1)
            share = (q - levels[at - 1]) / (levels[at] - levels[at - 1])
            return np.asarray(knots[at - 1] + (knots[at] - knots[at - 1]) * share, dtype=np.float64)
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"a quantile level must lie in [0, 1], got {q!r}")
        i = max(1, bisect_left(self.levels, q))
        f0, f1, x0, x1 = self.levels[i - 1], self.levels[i], self.knots[i - 1], self.knots[i]
        return x0 + (x1 - x0) * ((q - f0) / (f1 - f0))

    @property
    def median(self) -> float:
        """The log2 speedup with half of the probability, given success, on either side."""
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        """The expected log2 speedup given success."""
        x, f = self.knots, self.levels
        return sum([(f[i] - f[i - 1]) * (x[i] + x[i - 1]) for i in range(1, len(x))]) / 2.0

    @property
    def std(self) -> float:
        """The standard deviation of log2 speedup given success."""
        return math.sqrt(_variance(self.knots, self.levels, self.mean))

    def bins(self) -> tuple[float, ...]:
        """Return the probability of each of the eight bins given success; they sum to one."""
        levels = [0.0, *[self.cdf(edge) for edge in _bins.EDGES_LOG2], 1.0]
        return tuple([max(0.0, levels[i + 1] - levels[i]) for i in range(_bins.N_BINS)])

    def prob_above(self, speedup: float) -> float:
        """Return the probability that the candidate works and is faster than `speedup`."""
        return (1.0 - self.p_fail) * (1.0 - self.cdf(_log2(speedup)))

    def expected_improvement(self, speedup: float) -> float:
        """Return (1 - p_fail) E[max(0, log2 s - log2 speedup)], the integral of 1 - CDF above it; a failure is 0."""
        x, f, start = self.knots, self.levels, _log2(speedup)
        i = bisect_right(x, start)
        if i == len(x):
            return 0.0
        total = x[i] - start if i == 0 else (x[i] - start) * (1.0 - (self.cdf(start) + f[i]) / 2.0)
        total += sum([(x[j] - x[j - 1]) * (1.0 - (f[j] + f[j - 1]) / 2.0) for j in range(i + 1, len(x))])
        return (1.0 - self.p_fail) * total

    def interval(self, level: float) -> tuple[float, float]:
        """Return the central interval of log2 speedup that holds `level` of the probability given success."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"an interval's level must lie strictly between 0 and 1, got {level!r}")
        return self.quantile((1.0 - level) / 2.0), self.quantile((1.0 + level) / 2.0)

    def widened(self, scale: float) -> Forecast:
        """Return this forecast with every distance from its median multiplied by `scale` (below 1 narrows)."""
        if not 0.0 < scale < math.inf:
            raise ValueError(f"a scale must be a positive number, got {scale!r}")
        centre = self.median
        return Forecast(self.p_fail, _parted([centre + (x - centre) * scale for x in self.knots]), self.levels)

    def shifted(self, delta: float) -> Forecast:
        """Return this forecast moved by `delta` in log2 speedup."""
        return Forecast(self.p_fail, _parted([x + delta for x in self.knots]), self.levels)

    def with_bins(self, probs: Sequence[float] | FloatArray, p_fail: float) -> Forecast:
        """Return the forecast with these bin probabilities whose shape within each bin is this one's.

        A bin that has nothing of this forecast is filled evenly, as `from_bins` does. Exact but for knots that lie
        within `MIN_GAP` of each other.
        """
        even = Forecast.from_bins(probs, p_fail)
        knots = np.unique(np.concatenate([self.knots, _bins.BOUNDS_LOG2]))
        levels = np.interp(knots, even.knots, even.levels)
        ends = np.array([0.0, *(self.cdf(edge) for edge in _bins.EDGES_LOG2), 1.0])
        masses = np.diff(np.array([0.0, *(even.cdf(edge) for edge in _bins.EDGES_LOG2), 1.0]))
        sums = np.concatenate([[0.0], np.cumsum(masses)])
        of = np.searchsorted(_bins.EDGES_LOG2, knots, side="right")
        own = ends[of + 1] - ends[of]
        shaped = sums[of] + masses[of] * (self.cdf(knots) - ends[of]) / np.maximum(own, _LEAST_MASS)
        return Forecast(even.p_fail, _parted(knots.tolist()), _closed(np.where(own > _LEAST_MASS, shaped, levels)))

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-able form from which `from_dict` makes an equal forecast."""
        return {"p_fail": self.p_fail, "knots": list(self.knots), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Forecast:
        """Make the forecast that `as_dict` described."""
        return cls(data["p_fail"], tuple(data["knots"]), tuple(data["levels"]))


def _log2(speedup: float) -> float:
    if not 0.0 < speedup < math.inf:
        raise ValueError(f"a speedup must be a positive finite number, got {speedup!r}")
    return math.log2(speedup)


def _parted(knots: Iterable[float]) -> tuple[float, ...]:
    """Push sorted knots up where needed so that each is `MIN_GAP` or more past the last."""
    parted: list[float] = []
    least = -math.inf
    for knot in knots:
        knot = knot if knot >= least else least
        parted.append(knot)
        least = knot + MIN_GAP
    return tuple(parted)


def _closed(levels: FloatArray) -> tuple[float, ...]:
    """Turn computed levels into an exact CDF: never decreasing, from 0 to 1, whatever rounding did."""
    rising = np.maximum.accumulate(levels / levels[-1])
    rising[0], rising[-1] = 0.0, 1.0
    return tuple(np.minimum(rising, 1.0).tolist())
