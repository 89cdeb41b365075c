"""Asking a forecaster about every candidate of some pools, and laying forecasts and outcomes side by side."""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.belief import FAILURE, SUPPORT_LOG2, Forecast, bin_of, crps, outcome_probs
from foretell.kernels.evaluate.detection import prob_faster
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Forecaster

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FAILED_LOG2 = SUPPORT_LOG2[0]  # a failure is worth as much as a kernel 16 times slower than the reference
NOISE_LOG2 = math.log2(1.03)  # two candidates closer than this are not told apart by a measurement
APART_LOG2 = math.log2(1.1)  # pairs of `pairs_10` are further apart than this
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
UNKNOWN = -1


@dataclass(frozen=True)
class Judged:
    """What a forecaster said of each pool, how long it took, and what troubles it reported while at it.

    `troubled` says which forecasts were in trouble, as far as the forecaster told; `troubles` counts them by kind: the
    forecaster's own count, or that of the forecasts it named where it named more.
    """

    pools: tuple[Pool, ...]
    forecasts: tuple[tuple[Forecast, ...], ...]
    seconds: float
    troubles: Mapping[str, int]
    troubled: tuple[tuple[bool, ...], ...] = ()

    def where(self, holds: Callable[[Pool], bool]) -> Judged:
        """The pools for which it holds; troubles that nobody was named for stay with the whole."""
        at = [i for i, pool in enumerate(self.pools) if holds(pool)]
        flags = tuple(self.troubled[i] for i in at) if self.troubled else ()
        pools = tuple(self.pools[i] for i in at)
        return Judged(pools, tuple(self.forecasts[i] for i in at), self.seconds, {}, flags)


def judge(
    forecaster: Forecaster,
    pools: Sequence[Pool],
    learn: int = 0,
    seed: int = 0,
    done: Callable[[int], None] = lambda count: None,
) -> Judged:
    """Forecast every candidate of every pool; nothing is learnt unless `learn` is above 0.

    With `learn` that many random candidates of a pool are shown with their measurements first and the rest is judged;
    pools that have no rest are left out. `done` is told how many forecasts were made, pool by pool.
    """
    judged, forecasts, troubled, seconds = [], [], [], 0.0
    named: Counter[str] = Counter()
    before = troubles_of(forecaster)
    for pool in pools:
        started = time.perf_counter()
        if learn:
            shown = set(pool.drawn(learn, seed, "learn"))
            lessons = [(pool.subjects[i], pool.measured[i]) for i in sorted(shown) if _tells(pool, i)]
            forecaster.learn(pool.task, pool.device, lessons)
            pool = pool.take(i for i in range(len(pool)) if i not in shown)
        if not len(pool):
            continue
        told = forecaster.forecast(pool.task, pool.device, pool.subjects)
        seconds += time.perf_counter() - started
        if len(told) != len(pool):
            raise ValueError(f"{forecaster.name} gave {len(told)} forecasts for {len(pool)} candidates of {pool.name}")
        judged.append(pool)
        forecasts.append(tuple(told))
        troubles = _troubles(forecaster, len(told))
        troubled.append(tuple(trouble is not None for trouble in troubles))
        named.update(_kind(trouble) for trouble in troubles if trouble is not None)
        done(len(told))
    after = troubles_of(forecaster)
    fresh = {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}
    counted = max(fresh, named, key=lambda counts: sum(counts.values()))
    return Judged(tuple(judged), tuple(forecasts), seconds, dict(counted), tuple(troubled))


def troubles_of(forecaster: Forecaster) -> dict[str, int]:
    """How often a forecaster had to answer without an answer of its own, by kind of trouble; most never do."""
    return dict(getattr(forecaster, "troubles", {}))


def _troubles(forecaster: Forecaster, count: int) -> tuple[str | None, ...]:
    """What was in the way of each of the forecasts just made, where the forecaster says so in `last_troubles`."""
    told = tuple(getattr(forecaster, "last_troubles", ()))
    return told if len(told) == count else (None,) * count


def _kind(trouble: str) -> str:
    """The kind of a trouble: its name (`answer:bad_sum`), or a sentence as far as its first colon."""
    return trouble.partition(": ")[0]


def _tells(pool: Pool, i: int) -> bool:
    return not pool.measured[i].ok or pool.measured[i].speedup is not None


@dataclass(frozen=True)
class Rows:
    """One row for each candidate judged. Columns are NaN (outcome: `UNKNOWN`) where there is nothing to say.

    `bins` (eight), `mean`, `median`, `pit` and widths are given success; `probs` are of the nine outcomes. `pit` is
    the forecast's CDF at what was measured. `score` ranks candidates by what measuring them promises: the expected
    log2 speedup with a failure at `FAILED_LOG2`.
    """

    pool: Ints
    group: NDArray[np.str_]
    failed: Flags
    troubled: Flags
    builds: Flags
    log2: Floats
    rank_log2: Floats
    outcome: Ints
    bins: Floats
    probs: Floats
    p_fail: Floats
    mean: Floats
    median: Floats
    score: Floats
    widths: Mapping[float, Floats]
    crps: Floats
    pit: Floats

    def __len__(self) -> int:
        return len(self.pool)


def rows_of(judged: Judged, levels: Sequence[float] = (0.5, 0.8, 0.95)) -> Rows:
    """The columns of all pools, pool after pool; ValueError where nothing was judged."""
    forecasts = [forecast for told in judged.forecasts for forecast in told]
    if not forecasts:
        raise ValueError("no candidate is left to judge")
    sizes = [len(pool) for pool in judged.pools]
    measured = [m for pool in judged.pools for m in pool.measured]
    log2 = np.array([m.log2_speedup for m in measured])
    failed = np.array([m.status.is_failure for m in measured])
    worked = np.flatnonzero(~np.isnan(log2))
    outcome = np.where(failed, FAILURE, UNKNOWN).astype(np.int64)
    if worked.size:
        outcome[worked] = bin_of(np.exp2(log2[worked]))
    scored, pit = np.full(log2.size, math.nan), np.full(log2.size, math.nan)
    for i in worked.tolist():
        scored[i] = crps(forecasts[i], float(log2[i]))
        pit[i] = forecasts[i].cdf(float(log2[i]))
    mean, p_fail = np.array([f.mean for f in forecasts]), np.array([f.p_fail for f in forecasts])
    ends = {level: np.array([f.interval(level) for f in forecasts]) for level in levels}
    return Rows(
        pool=np.repeat(np.arange(len(sizes)), sizes),
        group=np.repeat(np.array([pool.group for pool in judged.pools]), sizes),
        failed=failed,
        troubled=np.array([flag for told in judged.troubled for flag in told] or [False] * len(forecasts)),
        builds=np.array([m.status is not Status.COMPILE_ERROR for m in measured]),
        log2=log2,
        rank_log2=np.array([value for pool in judged.pools for value in pool.rank_log2]),
        outcome=outcome,
        bins=np.array([f.bins() for f in forecasts]),
        probs=outcome_probs(forecasts),
        p_fail=p_fail,
        mean=mean,
        median=np.array([f.median for f in forecasts]),
        score=(1.0 - p_fail) * mean + p_fail * FAILED_LOG2,
        widths={level: both[:, 1] - both[:, 0] for level, both in ends.items()},
        crps=scored,
        pit=pit,
    )


@dataclass(frozen=True)
class Pairs:
    """Candidates beside another that works: is it faster, and what chance did its forecast give that?"""

    group: NDArray[np.str_]
    faster: Flags
    chance: Floats


def pairs_of(judged: Judged, seed: int = 0) -> Pairs:
    """Each candidate with its fastest recorded parent, or in pools without parents with a random other that works.

    Pairs that a measurement could not tell apart are left out.
    """
    group, faster, chance = [], [], []
    for pool, told in zip(judged.pools, judged.forecasts, strict=True):
        for i, j in _pairs(pool, seed):
            gap = pool.rank_log2[i] - pool.rank_log2[j]
            if abs(gap) >= NOISE_LOG2:
                group.append(pool.group)
                faster.append(gap > 0.0)
                chance.append(prob_faster(told[i], told[j]))
    return Pairs(np.array(group, dtype=np.str_), np.array(faster, dtype=bool), np.array(chance, dtype=np.float64))


def _pairs(pool: Pool, seed: int) -> Iterator[tuple[int, int]]:
    working = [i for i, value in enumerate(pool.rank_log2) if value > -math.inf]
    at = {pool.ids[i]: i for i in working}
    lineage = [
        (i, max((at[p] for p in subject.candidate.parents if p in at), key=lambda j: pool.rank_log2[j], default=i))
        for i, subject in enumerate(pool.subjects)
    ]
    known = [(i, j) for i, j in lineage if i != j]
    if known:
        yield from known
        return
    rng = np.random.default_rng([seed, zlib.crc32(pool.name.encode())])
    for i in range(len(pool)):
        others = len(working) - (pool.rank_log2[i] > -math.inf)
        if others > 0:
            j = working[int(rng.integers(others))]
            yield i, j if j != i else working[-1]
