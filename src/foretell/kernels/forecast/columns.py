"""Columns: what is known about subjects, turned into two matrices of comparable numbers for a model.

One matrix holds the numeric features (static and build), the other marks which shingles of the text are present.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.forecast.static import Description

FloatArray = NDArray[np.float64]

MAX_SHINGLES = 256  # columns of text; the most even splits of the rows are kept
_CONSIDERED = 2048  # shingles looked at before those that split the rows alike are merged
_CLIP = 4.0  # in standard deviations: past what the rows have shown, a straight line should not run on for ever
_LEAST_STD = 1e-9


@dataclass(frozen=True)
class Row:
    """One subject: its static description and its build's features (empty where it has not been built)."""

    static: Description
    build: Mapping[str, float]


@dataclass(frozen=True)
class Columns:
    """Maps rows to standardised matrices, as learnt from some rows. Constant columns are left out.

    Counts are compressed by sign(x) log(1 + |x|) first. A feature that a row lacks counts as the mean.
    """

    names: tuple[str, ...]
    means: FloatArray
    stds: FloatArray
    shingles: NDArray[np.uint64]
    shares: FloatArray

    @classmethod
    def fit(cls, rows: Sequence[Row], seed: int = 0) -> Columns:
        """Learn the columns from at least one row."""
        names = sorted({f"static.{k}" for row in rows for k in row.static.features} | _build_names(rows))
        table = _table(rows, names)
        known = np.maximum(1, np.isfinite(table).sum(axis=0))
        means = np.nansum(table, axis=0) / known
        stds = np.sqrt(np.nansum((table - means) ** 2, axis=0) / known)
        keep = stds > _LEAST_STD
        shingles, shares = _telling_shingles(rows, seed)
        kept = tuple(name for name, kept in zip(names, keep, strict=True) if kept)
        return cls(kept, means[keep], stds[keep], shingles, shares)

    def features(self, rows: Sequence[Row]) -> FloatArray:
        """Standardised features, shape (len(rows), len(names)); all finite, clipped to +-4 standard deviations."""
        table = (_table(rows, self.names) - self.means) / self.stds
        return np.clip(np.nan_to_num(table, nan=0.0), -_CLIP, _CLIP)

    def text(self, rows: Sequence[Row]) -> FloatArray:
        """Standardised presence of each shingle, shape (len(rows), len(shingles))."""
        marks = _presence(rows, self.shingles)
        spread = np.sqrt(self.shares * (1.0 - self.shares))
        return np.asarray((marks - self.shares) / spread, dtype=np.float64)


def _build_names(rows: Sequence[Row]) -> set[str]:
    return {f"build.{name}" for row in rows for name in row.build}


def _table(rows: Sequence[Row], names: Sequence[str]) -> FloatArray:
    """Compressed features with nan where a row lacks one."""
    split = [name.split(".", 1) for name in names]
    cells = [
        [(row.static.features if kind == "static" else row.build).get(name, math.nan) for kind, name in split]
        for row in rows
    ]
    table = np.array(cells, dtype=np.float64).reshape(len(rows), len(names))
    table[~np.isfinite(table)] = math.nan
    return np.asarray(np.sign(table) * np.log1p(np.abs(table)), dtype=np.float64)


def _telling_shingles(rows: Sequence[Row], seed: int) -> tuple[NDArray[np.uint64], FloatArray]:
    """Shingles that tell rows apart, one for each way of splitting the rows, and the share of rows that has each.

    The most even splits come first. A shingle and its absence split alike.
    """
    seen, counts = np.unique(np.concatenate([row.static.shingles for row in rows]), return_counts=True)
    evenness = np.minimum(counts, len(rows) - counts)
    order = np.argsort(-evenness, kind="stable")
    order = order[evenness[order] > 0][:_CONSIDERED]
    shingles = seen[order]
    marks = _presence(rows, shingles)
    # Equal or opposite splits have equal projections on any direction, up to sign.
    direction = np.random.default_rng(seed).standard_normal(len(rows))
    signature = np.round(np.abs(direction @ (marks - marks.mean(axis=0))), 7) if marks.size else np.zeros(0)
    first = np.sort(np.unique(signature, return_index=True)[1])[:MAX_SHINGLES]
    return shingles[first], marks[:, first].mean(axis=0)


def _presence(rows: Sequence[Row], shingles: NDArray[np.uint64]) -> FloatArray:
    marks = np.zeros((len(rows), shingles.size))
    order = np.argsort(shingles)
    for mark, row in zip(marks, rows, strict=True):
        found = np.isin(shingles[order], row.static.shingles, assume_unique=True)
        mark[order] = found
    return marks
