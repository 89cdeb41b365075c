"""Conformal intervals: widen or narrow a forecast until its intervals hold what they claim to hold.

The score of an observation is the widening its forecast would have needed: with `(low, high)` the forecast's own
central interval and `m` its median, it is (y - m) / (high - m) above the median and (m - y) / (m - low) below. It is
1 at the interval's end, is normalised by the forecast's own spread on that side, and means that
`forecast.widened(score)` just reaches y.

Two calibrators share it. `SplitConformal` guarantees coverage when past and future are exchangeable. In a search they
are not: what gets measured is chosen by these very forecasts, and candidates change as the search learns. So
`AdaptiveConformal` (Gibbs & Candes 2021) is the default: it follows the coverage that actually happens and needs no
such assumption.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief._arrays import vector
from foretell.belief.forecast import Forecast

MIN_SCALE, MAX_SCALE = 0.01, 100.0
_PRIOR_SCORES = 19  # enough that a fresh object has scale 1 exactly for every target in steps of 5 %
_BEYOND = 2.0  # past the largest score in memory there is no quantile to read; go this many times further


def widening_needed(forecast: Forecast, observed_log2: float, level: float) -> float:
    """Return the score: the least scale at which `forecast.widened(scale).interval(level)` holds the observation."""
    if not math.isfinite(observed_log2):
        raise ValueError(f"the observed log2 speedup must be a finite number, got {observed_log2!r}")
    low, high = forecast.interval(level)
    gap = observed_log2 - forecast.median
    return gap / (high - forecast.median) if gap >= 0.0 else gap / (low - forecast.median)


def conformal_quantile(scores: ArrayLike, level: float) -> float:
    """Return the ceil((n + 1) level)-th smallest score, the finite-sample quantile; infinite if n is too small."""
    ordered = np.sort(vector("scores", scores))
    rank = _rank(ordered.size, level)
    return math.inf if rank > ordered.size else float(ordered[max(rank, 1) - 1])


@dataclass(frozen=True)
class SplitConformal:
    """A fixed scale learnt from `n` held-out forecasts; its intervals cover `level` of exchangeable observations.

    `scale` is infinite when n is below level / (1 - level): then `interval` is the whole line and `apply` raises.
    """

    level: float
    scale: float
    n: int

    @classmethod
    def fit(cls, forecasts: Sequence[Forecast], observed_log2: ArrayLike, level: float = 0.8) -> SplitConformal:
        """Learn the scale from forecasts that were not fitted to these observations."""
        pairs = zip(forecasts, vector("observed_log2", observed_log2).tolist(), strict=True)
        scores = [widening_needed(forecast, y, level) for forecast, y in pairs]
        return cls(level, conformal_quantile(scores, level), len(scores))

    def interval(self, forecast: Forecast) -> tuple[float, float]:
        """Return the conformal interval of log2 speedup."""
        if math.isinf(self.scale):
            return -math.inf, math.inf
        return self.apply(forecast).interval(self.level)

    def apply(self, forecast: Forecast) -> Forecast:
        """Return the forecast widened by the scale."""
        if math.isinf(self.scale):
            raise ValueError(f"{self.n} observations are too few for a {self.level:.0%} conformal interval")
        return forecast.widened(max(MIN_SCALE, self.scale))


def _honest_scores(target: float) -> tuple[float, ...]:
    """The scores that a calibrated normal forecast would have had, evenly spread in probability."""
    _check_target(target)
    normal = NormalDist()
    reach = normal.inv_cdf((1.0 + target) / 2.0)
    shares = [i / (_PRIOR_SCORES + 1) for i in range(1, _PRIOR_SCORES + 1)]
    return tuple(normal.inv_cdf((1.0 + share) / 2.0) / reach for share in shares)


@dataclass(frozen=True)
class AdaptiveConformal:
    """Adaptive conformal inference: a scale that follows the coverage that actually happens.

    After every observation the coverage aimed for moves by `step x (target - covered)`: up by `step x target` after a
    miss, down by `step x (1 - target)` after a hit; `scale` is the quantile at that aim of the last `memory` scores.
    Long-run coverage is `target` whatever the order of observations. A fresh object remembers the scores that an
    honest forecast would have had, so it starts at scale 1 and earns every change. A value: `update` returns the next
    state, so replaying the same observations gives the same scale.
    """

    target: float = 0.8
    step: float = 0.03
    memory: int = 100
    aim: float = field(default=math.nan)
    scores: tuple[float, ...] = ()
    n_seen: int = 0
    n_covered: int = 0

    def __post_init__(self) -> None:
        _check_target(self.target)
        if not 0.0 < self.step < 1.0:
            raise ValueError(f"the step must lie strictly between 0 and 1, got {self.step!r}")
        if self.memory < 1:
            raise ValueError(f"the memory must hold at least one score, got {self.memory!r}")
        if math.isnan(self.aim):
            object.__setattr__(self, "aim", self.target)
        if not self.scores:
            object.__setattr__(self, "scores", _honest_scores(self.target)[-self.memory :])

    @property
    def scale(self) -> float:
        """How much to widen the next forecast, in [MIN_SCALE, MAX_SCALE]."""
        ordered = sorted(self.scores)
        rank = _rank(len(ordered), self.aim)
        if rank < 1:
            return MIN_SCALE
        found = ordered[rank - 1] if rank <= len(ordered) else _BEYOND * ordered[-1]
        return min(MAX_SCALE, max(MIN_SCALE, found))

    @property
    def coverage(self) -> float:
        """The share of observations so far that fell within the interval that was current; NaN before the first."""
        return self.n_covered / self.n_seen if self.n_seen else math.nan

    def apply(self, forecast: Forecast) -> Forecast:
        """Return the forecast widened by the current scale."""
        return forecast.widened(self.scale)

    def interval(self, forecast: Forecast) -> tuple[float, float]:
        """Return the current interval of log2 speedup for a raw forecast."""
        return self.apply(forecast).interval(self.target)

    def update(self, forecast: Forecast, observed_log2: float) -> AdaptiveConformal:
        """Return the state after observing a candidate; `forecast` is the raw one, before `apply`."""
        score = widening_needed(forecast, observed_log2, self.target)
        covered = score <= self.scale
        return replace(
            self,
            aim=self.aim + self.step * (self.target - covered),
            scores=(*self.scores, score)[-self.memory :],
            n_seen=self.n_seen + 1,
            n_covered=self.n_covered + covered,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-able form of the whole state."""
        return {**asdict(self), "scores": list(self.scores)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AdaptiveConformal:
        """Make the state that `as_dict` described."""
        return cls(**{**data, "scores": tuple(data["scores"])})


def _rank(n: int, level: float) -> int:
    # The slack keeps 0.8 x 20 at rank 16 whatever the last bit of the product says.
    return math.ceil((n + 1) * level - 1e-9)


def _check_target(target: float) -> None:
    if not 0.0 < target < 1.0:
        raise ValueError(f"the target coverage must lie strictly between 0 and 1, got {target!r}")
