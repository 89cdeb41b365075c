"""The tuner: asks for one configuration at a time and is told how long it took.

It starts with configurations far apart, round numbers first, and then measures where a Gaussian process over log time
expects the largest improvement on the best so far, times the chance that the configuration works at all. Powers of two
are expected to be faster until they prove not to be. A prior (log2 times of the same configurations elsewhere) makes
the process learn the difference to that prior instead; after a while both take turns, in case the prior misleads.
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
FASTER_ROUND = 4.0  # standard deviations of the times seen by which one of round numbers only is expected to be faster
# Two views take turns, so that a search that one of them leads astray is not lost: times above this quantile of those
# seen are taken for it (how slow the slowest are is of no use), with this much of a surface beside the curves.
VIEWS = ((0.9, 0.5), (0.6, 1.0))
TYPICAL_DIFFERENCE = 0.3  # doublings by which times differ from a prior's, once both are centred
SLOPE_ROWS = 4.0  # rows a doubling away from the mean that have to disagree with the prior to halve its slope's error
ALONE = 20  # rows that work before a prior takes turns with what is expected without it
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
        self._points = encode(parameters, codes)
        self._processes: dict[str, surrogate.Process] = {}
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
        distances = self._points.squared_between(drawn, np.array(list(self._told)))
        return int(drawn[np.argmax(distances.min(axis=1))])

    def _promising(self) -> int:
        rows = np.array(list(self._told))
        values = np.array(list(self._told.values()))
        works = ~np.isnan(values)
        seen = values[works]
        mean, std = self._forecast(rows[works], seen)
        gain = _log_expected_improvement(mean, std, float(seen.min())) + np.log(self._chance(rows, works))
        return int(np.argmax(np.where(self._free, gain, -np.inf)))

    def _forecast(self, rows: IntArray, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of all rows' log2 times, from those seen."""
        turn = len(self._told)
        if self._prior is None:
            return self._without_prior(rows, seen, turn)
        if len(rows) >= ALONE and turn % 2:
            return self._without_prior(rows, seen, turn // 2)
        trend = self._prior * _slope(self._prior[rows], seen)
        rest = seen - trend[rows]
        mean, std = self._process("prior", rows).predict(rest, float(np.median(rest)), TYPICAL_DIFFERENCE)
        return mean + trend, std

    def _without_prior(self, rows: IntArray, seen: FloatArray, turn: int) -> tuple[FloatArray, FloatArray]:
        clip, surface = VIEWS[turn % len(VIEWS)]
        clipped = np.minimum(seen, np.quantile(seen, clip))
        spread = float(clipped.std())
        trend = -FASTER_ROUND * spread * self._points.roundness
        rest = clipped - trend[rows]
        process = self._process(f"view {turn % len(VIEWS)}", rows, surface)
        mean, std = process.predict(rest, float(np.median(rest)), spread)
        return mean + trend, std

    def _chance(self, rows: IntArray, works: NDArray[np.bool_]) -> FloatArray:
        """The chance that each row works: the same process over ones and zeros, kept within sense."""
        if works.all():
            return np.ones(len(self._free))
        share = float(works.mean())
        spread = math.sqrt(share * (1.0 - share))
        mean, _ = self._process("works", rows).predict(works.astype(np.float64), share, spread)
        return np.clip(mean, LEAST_CHANCE, 1.0)

    def _process(self, name: str, rows: IntArray, surface: float = surrogate.SURFACE) -> surrogate.Process:
        """The process of that name, having seen these rows; anew where it had seen others."""
        process = self._processes.get(name)
        if process is None or process.rows != rows[: len(process.rows)].tolist():
            process = self._processes[name] = surrogate.Process(self._points, surface)
        for row in rows[len(process.rows) :].tolist():
            process.see(row)
        return process


def _slope(prior: FloatArray, seen: FloatArray) -> float:
    """How far times here follow those of the prior: 1 unless what was seen speaks against it."""
    away = prior - prior.mean()
    return 1.0 + float(away @ (seen - prior)) / (float(away @ away) + SLOPE_ROWS)


def _filled(prior_log2: FloatArray) -> FloatArray:
    """The prior with its slowest time for rows it does not know or that failed there."""
    return np.where(np.isnan(prior_log2), np.nanmax(prior_log2), prior_log2)


def _log_expected_improvement(mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
    """Of a normal; from a table where it is neither sure nor next to impossible, and from its limits elsewhere."""
    z = (best - mean) / std
    far = -0.5 * z**2 - np.log(math.sqrt(2.0 * math.pi) * (z**2 + 3.0))
    sure = np.log(np.maximum(z, 1.0))
    tabled = np.interp(z, _GRID, _ON_GRID)
    return np.asarray(np.log(std) + np.where(z < _GRID[0], far, np.where(z > _GRID[-1], sure, tabled)))


def _log_improvement(z: float) -> float:
    """Logarithm of how much a standard normal is expected to fall short of z."""
    return math.log(0.5 * z * math.erfc(-z * math.sqrt(0.5)) + math.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi))


_GRID = np.linspace(-20.0, 10.0, 3001)
_ON_GRID = np.array([_log_improvement(z) for z in _GRID.tolist()])
