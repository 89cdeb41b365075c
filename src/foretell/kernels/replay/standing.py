"""How contenders stand after their runs: measurements until near the best, the best so far, and how sure that is.

Every ground weighs the same. Intervals come from drawing whole grounds again with replacement, or runs where there is
only one ground: how far a figure might move on other operations, or with other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.replay.compare import NEAR, Contender, Run

RESAMPLES = 1000
TAILS = (0.025, 0.975)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """One contender over all its runs.

    `until` is the median over grounds of the median over seeds of the measurements until within 5 % of the best, with
    its 95 % interval; infinite where that is never. `reached` is the share of runs that got there. `mean[k]` is the
    best after k + 1 measurements as a share of the ground's best, within `low[k]` and `high[k]`, and `near[k]` the
    share of runs within 5 % by then; a search that ended sooner stays where it ended. `measured` and `considered` are
    means; `by_ground` has `until` and `reached` on each ground.
    """

    contender: Contender
    runs: int
    until: float
    until_low: float
    until_high: float
    reached: float
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    near: tuple[float, ...]
    measured: float
    considered: float
    by_ground: dict[int, tuple[float, float]]

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain JSON, with the grounds' names; what never came is null."""
        return {
            "policy": self.contender.policy,
            "strategy": self.contender.strategy or None,
            "forecaster": self.contender.forecaster,
            "runs": self.runs,
            "until": _finite(self.until),
            "until_low": _finite(self.until_low),
            "until_high": _finite(self.until_high),
            "reached": round(self.reached, 4),
            "measured": round(self.measured, 2),
            "considered": round(self.considered, 2),
            "curve": {
                name: [round(value, 4) for value in values]
                for name, values in (("mean", self.mean), ("low", self.low), ("high", self.high), ("near", self.near))
            },
            "by_pool": [
                {"pool": names[ground], "until": _finite(until), "reached": round(reached, 4)}
                for ground, (until, reached) in self.by_ground.items()
            ],
        }


def standings(runs: Sequence[Run]) -> list[Standing]:
    """One for each contender, in the order of their first run; none without runs."""
    length = max((len(run.shares) for run in runs), default=0)
    contending = dict.fromkeys(run.contender for run in runs)
    return [_standing(c, [run for run in runs if run.contender == c], max(1, length)) for c in contending]


def _standing(contender: Contender, runs: Sequence[Run], length: int) -> Standing:
    by_ground: dict[int, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.ground, run.seed)):
        by_ground.setdefault(run.ground, []).append(run)
    groups = list(by_ground.values())
    units = groups if len(groups) > 1 else [[run] for run in groups[0]]
    until = np.array([_until(unit) for unit in units])
    curves = np.array([np.mean([_curve(run, length) for run in unit], axis=0) for unit in units])
    near = np.array([np.mean([_curve(run, length) >= NEAR for run in unit], axis=0) for unit in units])
    draws = np.random.default_rng(0).integers(len(units), size=(RESAMPLES, len(units)))
    spread = [float(value) for value in np.quantile(np.median(until[draws], axis=1), TAILS, method="inverted_cdf")]
    low, high = np.quantile(curves[draws].mean(axis=1), TAILS, axis=0)
    return Standing(
        contender=contender,
        runs=len(runs),
        until=median(until.tolist()),
        until_low=spread[0],
        until_high=spread[1],
        reached=_reached(units),
        mean=tuple(curves.mean(axis=0).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        near=tuple(near.mean(axis=0).tolist()),
        measured=mean(mean(len(run.shares) for run in unit) for unit in units),
        considered=mean(mean(run.considered for run in unit) for unit in units),
        by_ground={ground: (_until(own), _reached([own])) for ground, own in by_ground.items()},
    )


def _until(runs: Sequence[Run]) -> float:
    return float(median(math.inf if run.until is None else run.until for run in runs))


def _reached(units: Sequence[Sequence[Run]]) -> float:
    return mean(mean(run.until is not None for run in unit) for unit in units)


def _curve(run: Run, length: int) -> FloatArray:
    """The shares of a run, with the last one kept to the end."""
    shares = run.shares or (0.0,)
    return np.array([*shares, *[shares[-1]] * (length - len(shares))])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
