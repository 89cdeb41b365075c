"""What a comparison came to, as one value: for the terminal, for JSON and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.replay.compare import ASK_NOBODY, NEAR, TUNER, Contender, Effort, Run
from foretell.kernels.replay.standing import Standing, standings

PLACES = (1, 3, 10, 30, 100, 300, 1000)  # measurements after which the best so far is told


@dataclass(frozen=True)
class PoolFacts:
    """A pool in a few numbers; `best` is the highest speedup, in a tuning space over the median of what works."""

    name: str
    operation: str
    device: str
    candidates: int
    worked: int
    best: float
    measurements: int
    considered: int

    @classmethod
    def of(cls, pool: Pool, effort: Effort) -> PoolFacts:
        """ValueError where nothing works: there is no best to be near to."""
        speedups = [m.speedup for m in pool.measured if m.ok and m.speedup]
        if not speedups:
            raise ValueError(f"nothing works in the pool {pool.name}")
        budgets = effort.profile(len(pool)).budgets
        counts = (len(pool), len(speedups), max(speedups), budgets.measurements, budgets.candidates)
        return cls(pool.name, pool.task.name, pool.device.name, *counts)


@dataclass(frozen=True)
class Comparison:
    """All runs there are; `wanted` is how many there were to be. A run's `ground` counts `pools`."""

    settings: Mapping[str, Any]
    pools: tuple[PoolFacts, ...]
    runs: tuple[Run, ...]
    wanted: int

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        return tuple(standings(self.runs))

    @property
    def complete(self) -> bool:
        return len(self.runs) == self.wanted

    @property
    def places(self) -> tuple[int, ...]:
        """The counts of measurements after which the best so far is told: as far as searches went."""
        longest = max((len(run.shares) for run in self.runs), default=0)
        return tuple(place for place in PLACES if place <= longest) or (1,)

    def labels(self) -> dict[Contender, str]:
        """A short name for each contender: no more than what sets it apart."""
        names = [standing.contender for standing in self.standings]
        several = len({name.strategy for name in names} - {""}) > 1
        return {name: _label(name, several) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: settings, pools, standings, and for each run its steps (measurement, share of the best)."""
        names = [pool.name for pool in self.pools]
        return {
            "settings": dict(self.settings),
            "near": NEAR,
            "complete": self.complete,
            "runs_wanted": self.wanted,
            "places": list(self.places),
            "pools": [asdict(pool) for pool in self.pools],
            "standings": [
                {**one.to_dict(names), "after": [round(one.mean[k - 1], 4) for k in self.places]}
                for one in self.standings
            ],
            "runs": [
                {
                    "pool": names[run.ground],
                    "policy": run.contender.policy,
                    "strategy": run.contender.strategy or None,
                    "forecaster": run.contender.forecaster,
                    "seed": run.seed,
                    "until": run.until,
                    "measured": len(run.shares),
                    "considered": run.considered,
                    "steps": list(steps(run.shares)),
                }
                for run in self.runs
            ],
        }


def steps(shares: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Where a curve rises: the measurement, and the share of the best from then on."""
    for k, (before, after) in enumerate(pairwise((0.0, *shares)), start=1):
        if after > before:
            yield k, round(after, 4)


def _label(contender: Contender, several_strategies: bool) -> str:
    words = [contender.policy]
    if contender.policy not in (*ASK_NOBODY, TUNER):
        words.append(contender.forecaster)
    if several_strategies and contender.strategy:
        words.append(contender.strategy)
    return ", ".join(words)
