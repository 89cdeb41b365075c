"""Bootstrap intervals: how far a number might have moved with another sample of the same kind.

A statistic is any function of columns (equal-length arrays, one row a candidate) that returns a number. Rows are
drawn again with replacement; where rows of one operation resemble each other, whole operations are drawn instead
(cluster bootstrap), which is the honest choice for claims about operations not yet seen. Percentile method, seeded:
same input, same interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.belief._arrays import IntArray

REPLICATES = 1000
LEVEL = 0.95
_MIN_USABLE = 0.5  # below this share of replicates with an answer, an interval would mislead

Statistic = Callable[..., float]
Column = ArrayLike | Sequence[Any]


@dataclass(frozen=True)
class Estimate:
    """A value with a `level` interval; `n` is the number of units that were drawn again: rows, or groups."""

    value: float
    low: float
    high: float
    level: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def bootstrap(
    statistic: Statistic, *columns: Column, replicates: int = REPLICATES, level: float = LEVEL, seed: int = 0
) -> Estimate:
    """Return `statistic(*columns)` with its percentile interval over resampled rows.

    Columns may hold anything with one entry a row, `Forecast`s too; shape (n, k) is resampled along n. Replicates in
    which the statistic is NaN are left out; the interval is NaN when that leaves fewer than half.
    """
    named = {"": statistic}
    return bootstrap_all(named, *columns, replicates=replicates, level=level, seed=seed)[""]


def cluster_bootstrap(
    statistic: Statistic,
    *columns: Column,
    groups: Column,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: int = 0,
) -> Estimate:
    """Return `statistic(*columns)` with its percentile interval over resampled groups; `groups` names one a row."""
    named = {"": statistic}
    return bootstrap_all(named, *columns, groups=groups, replicates=replicates, level=level, seed=seed)[""]


def bootstrap_all(
    statistics: Mapping[str, Statistic],
    *columns: Column,
    groups: Column | None = None,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Return an estimate for each named statistic of the same columns, all from the same resamples.

    With `groups` whole groups are drawn, otherwise rows.
    """
    if not 0.0 < level < 1.0 or replicates < 1:
        raise ValueError(f"need a level in (0, 1) and at least one replicate, got {level!r} and {replicates!r}")
    arrays = [_column(column) for column in columns]
    if not arrays or arrays[0].shape[0] == 0 or len({array.shape[0] for array in arrays}) > 1:
        raise ValueError(f"need columns of one length with at least a row, got {[a.shape[:1] for a in arrays]}")
    units = _units(arrays[0].shape[0], groups)
    rng = np.random.default_rng(seed)
    found = np.empty((replicates, len(statistics)))
    for i in range(replicates):
        drawn = rng.integers(0, len(units), len(units))
        rows = np.concatenate([units[j] for j in drawn]) if groups is not None else drawn
        resampled = [array[rows] for array in arrays]
        found[i] = [float(statistic(*resampled)) for statistic in statistics.values()]
    tail = (1.0 - level) / 2.0
    estimates = {}
    for k, (name, statistic) in enumerate(statistics.items()):
        usable = found[~np.isnan(found[:, k]), k]
        low, high = math.nan, math.nan
        if usable.size >= _MIN_USABLE * replicates:
            # Not the default linear rule: it would make NaN of a replicate that is infinite.
            low, high = np.quantile(usable, (tail, 1.0 - tail), method="inverted_cdf").tolist()
        estimates[name] = Estimate(float(statistic(*arrays)), low, high, level, len(units))
    return estimates


def _units(n: int, groups: Column | None) -> list[IntArray]:
    if groups is None:
        return list(np.arange(n)[:, None])
    names = _column(groups)
    if names.shape != (n,):
        raise ValueError(f"need the group of each of {n} rows, got shape {names.shape}")
    at = np.unique(names, return_inverse=True)[1]
    order = np.argsort(at, kind="stable")
    return np.split(order, np.cumsum(np.bincount(at))[:-1])


def _column(values: Column) -> NDArray[Any]:
    array = np.asarray(values)
    return array if array.ndim else array[None]
