"""The tuner: asks for one configuration at a time and is told how long it took.

It starts with configurations far apart, round numbers first, and then measures where a Gaussian process over log time
expects the largest improvement on the best so far, times the chance that the configuration works at all. A prior
(log2 times of the same configurations elsewhere) makes the process learn the difference to that prior instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.tune import surrogate
from foretell.kernels.tune.encode import FloatArray, IntArray, Value, encode

FIRST = 5  # configurations measured before the process is asked
FEWEST = 3  # of them have to work
DRAWS = 60  # from which the next of the first ones is the one farthest from all before
ROUND = 2.0  # a configuration of round numbers only is drawn e^2 times as often as one without any
MOST_ROWS = 3000  # looked at for each choice; more are drawn at random, half from near the best
NEAR = 2  # parameters in which a neighbour may differ
# Two views take turns, so that a search that one of them leads astray is not lost: times above this quantile of those
# seen are taken for it (how slow the slowest are is of no use), with this much of a surface beside the curves.
VIEWS = ((0.9, 0.5), (0.6, 1.0))
TYPICAL_DIFFERENCE = 0.3  # doublings by which times differ from a prior's, once both are centred
SLOPE_ROWS = 4.0  # rows a doubling away from the mean that have to disagree with the prior to halve its slope's error
LEAST_CHANCE = 0.02  # that a configuration works, however many like it have failed


class Exhausted(RuntimeError):
    """Every configuration was measured."""


class Tuner:
    """Tuning one kernel on one device.

    `codes` has a row for each allowed configuration: the indices of its values in `parameters`. `ask` names a row that
    was not told yet, `tell` gives its time, None for a failure; rows may also be told unasked. Deterministic in its
    arguments and what it was told. `prior_log2` holds log2 times from elsewhere for all rows, nan where unknown.
    """

    def __init__(
        self,
        parameters: Mapping[str, Sequence[Value]],
        codes: IntArray,
        seed: int = 0,
        prior_log2: FloatArray | None = None,
    ) -> None:
        self._codes = codes
        self._points = encode(parameters, codes)
        self._rng = np.random.default_rng(seed)
        self._told: dict[int, float] = {}  # log2 time, nan for a failure
        self._free = np.ones(len(codes), dtype=bool)
        self._prior = None if prior_log2 is None else _filled(prior_log2)
        weight = np.exp(ROUND * self._points.roundness)
        self._draw = weight / weight.sum()

    @property
    def best(self) -> int | None:
        """The fastest row so far; None while nothing worked."""
        worked = {row: value for row, value in self._told.items() if not math.isnan(value)}
        return min(worked, key=worked.__getitem__) if worked else None

    def ask(self) -> int:
        """The row to measure next; Exhausted where none is left."""
        if not self._free.any():
            raise Exhausted("every configuration was measured")
        worked = sum(not math.isnan(value) for value in self._told.values())
        if self._prior is not None:
            return self._promising() if worked else int(np.argmin(np.where(self._free, self._prior, np.inf)))
        if len(self._told) < FIRST or worked < FEWEST:
            return self._apart()
        return self._promising()

    def tell(self, row: int, time: float | None) -> None:
        """Take in what a row took (any unit, the same for all), or that it failed."""
        if time is not None and not 0.0 < time < math.inf:
            raise ValueError(f"a time must be above zero and finite, got {time}")
        self._told[row] = math.nan if time is None else math.log2(time)
        self._free[row] = False

    def _apart(self) -> int:
        """A row far from all told, among some drawn at random with a liking for round numbers."""
        chance = np.where(self._free, self._draw, 0.0)
        drawn = self._rng.choice(len(chance), min(DRAWS, int(self._free.sum())), False, chance / chance.sum())
        if not self._told:
            return int(drawn[0])
        distances = _squared(self._points.features[drawn], self._points.features[list(self._told)])
        return int(drawn[np.argmax(distances.min(axis=1))])

    def _promising(self) -> int:
        rows = np.array(list(self._told))
        values = np.array(list(self._told.values()))
        works = ~np.isnan(values)
        worked, seen = rows[works], values[works]
        looked_at = self._look_at(worked[np.argsort(seen)[:FEWEST]])
        mean, std = self._forecast(worked, seen, looked_at)
        gain = _expected_improvement(mean, std, float(seen.min()))
        return int(looked_at[np.argmax(gain * self._chance(rows, works, looked_at))])

    def _forecast(self, rows: IntArray, seen: FloatArray, asked: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of log2 times, from those seen."""
        if self._prior is None:
            clip, surface = VIEWS[len(self._told) % len(VIEWS)]
            clipped = np.minimum(seen, np.quantile(seen, clip))
            usual, spread = float(np.median(clipped)), float(clipped.std())
            fit = surrogate.fit(self._points[rows], clipped, usual, spread, surface)
            return fit.predict(self._points[asked])
        trend = self._prior * _slope(self._prior[rows], seen)
        rest = seen - trend[rows]
        fit = surrogate.fit(self._points[rows], rest, float(np.median(rest)), TYPICAL_DIFFERENCE)
        mean, std = fit.predict(self._points[asked])
        return mean + trend[asked], std

    def _look_at(self, leaders: IntArray) -> IntArray:
        """Free rows to choose from: all, or where they are many some near the leaders and some from anywhere."""
        free = np.flatnonzero(self._free)
        if len(free) <= MOST_ROWS:
            return free
        if self._prior is not None:
            return free[np.argsort(self._prior[free], kind="stable")[:MOST_ROWS]]
        differ = (self._codes[free][:, None, :] != self._codes[leaders][None, :, :]).sum(axis=2).min(axis=1)
        near = free[differ <= NEAR]
        if len(near) > MOST_ROWS // 2:
            near = self._rng.choice(near, MOST_ROWS // 2, replace=False)
        return np.union1d(near, self._rng.choice(free, MOST_ROWS - len(near), replace=False))

    def _chance(self, rows: IntArray, works: NDArray[np.bool_], asked: IntArray) -> FloatArray:
        """The chance that each works: the same process over ones and zeros, kept within sense."""
        if works.all():
            return np.ones(len(asked))
        share = float(works.mean())
        fit = surrogate.fit(self._points[rows], works.astype(np.float64), share, math.sqrt(share * (1.0 - share)))
        return np.clip(fit.predict(self._points[asked])[0], LEAST_CHANCE, 1.0)


def _slope(prior: FloatArray, seen: FloatArray) -> float:
    """How far times here follow those of the prior: 1 unless what was seen speaks against it."""
    away = prior - prior.mean()
    return 1.0 + float(away @ (seen - prior)) / (float(away @ away) + SLOPE_ROWS)


def _filled(prior_log2: FloatArray) -> FloatArray:
    """The prior with its slowest time for rows it does not know or that failed there."""
    return np.where(np.isnan(prior_log2), np.nanmax(prior_log2), prior_log2)


def _expected_improvement(mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
    z = (best - mean) / std
    below = 0.5 * np.array([math.erfc(x) for x in (z * -math.sqrt(0.5)).tolist()])
    return np.asarray(std * (z * below + np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)), dtype=np.float64)


def _squared(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squared distances between rows."""
    return np.asarray(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2), dtype=np.float64)
