"""Measured kernels that a model remembers, so that a forecast can name those most like the one it is about.

A few thousand rows of training, each with a few dozen standardised numbers in a byte apiece. They explain a forecast
and have no part in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.received import parsed
from foretell.trees import FloatArray

STEPS = 24  # of a standard deviation; a byte so holds five deviations either way
MISSING = -128
_LARGEST = 127
# Distances are root mean squares over numbers known of both, in standard deviations.
_LIKENESS = ((0.15, "nearly the same"), (0.45, "much alike"), (0.9, "somewhat alike"), (math.inf, "not much alike"))


@dataclass(frozen=True)
class Remembered:
    """One measured kernel in words."""

    id: str
    task: str
    family: str
    language: str
    device: str
    words: str


@dataclass(frozen=True)
class Neighbour:
    """A measured kernel like the one asked about: its speedup on its device, and how alike the two are."""

    id: str
    task: str
    language: str
    device: str
    words: str
    speedup: float
    distance: float
    likeness: str


@dataclass(frozen=True)
class Memory:
    """Kernels of one kind of device; row i of `cells` holds `rows[i]` in the `columns`, standardised."""

    columns: tuple[str, ...]
    centre: FloatArray
    scale: FloatArray
    cells: NDArray[np.int8]
    log2: FloatArray
    rows: tuple[Remembered, ...]

    def __post_init__(self) -> None:
        rows, columns = len(self.rows), len(self.columns)
        if self.cells.shape != (rows, columns) or self.log2.shape != (rows,):
            raise ValueError("the memory's rows do not hang together")
        if self.centre.shape != (columns,) or self.scale.shape != (columns,) or not bool((self.scale > 0.0).all()):
            raise ValueError("the memory's columns do not hang together")

    @staticmethod
    def of(
        columns: Sequence[str],
        described: Sequence[Mapping[str, float]],
        log2: Sequence[float],
        rows: Sequence[Remembered],
    ) -> Memory:
        """A memory of these rows; columns are standardised by their median and their middle four fifths."""
        table = np.array([[each.get(name, math.nan) for name in columns] for each in described], dtype=np.float64)
        table = table.reshape(len(rows), len(columns))
        known = np.where(np.isfinite(table), table, np.nan)
        known[:, ~np.isfinite(known).any(axis=0)] = 0.0
        low, centre, high = np.nanquantile(known, (0.1, 0.5, 0.9), axis=0)
        spread = np.nanstd(known, axis=0)
        scale = np.where(high > low, (high - low) / 2.56, np.where(spread > 0.0, spread, 1.0))
        return Memory(tuple(columns), centre, scale, _stored((table - centre) / scale), np.array(log2), tuple(rows))

    def nearest(
        self, described: Mapping[str, float], task: str, family: str, language: str, count: int
    ) -> tuple[Neighbour, ...]:
        """Up to `count` kernels, of the same operation first, then of its family, then others; of these the nearest.

        Among kernels of one operation, or family, those in the same language come first.
        """
        if not self.rows:
            return ()
        asked = np.array([described.get(name, math.nan) for name in self.columns])
        asked = _loaded(_stored((asked - self.centre) / self.scale))
        apart = (_loaded(self.cells) - asked) ** 2
        shared = np.isfinite(apart)
        means = np.where(shared, apart, 0.0).sum(axis=1) / np.maximum(1, shared.sum(axis=1))
        distance = np.where(shared.any(axis=1), np.sqrt(means), np.inf)
        kin = np.array([0 if row.task == task else 1 if row.family == family else 2 for row in self.rows])
        other = np.array([row.language != language for row in self.rows])
        order = np.lexsort((distance, other, kin))[:count]
        return tuple(self._neighbour(int(i), float(distance[i])) for i in order if math.isfinite(distance[i]))

    def _neighbour(self, i: int, distance: float) -> Neighbour:
        row = self.rows[i]
        likeness = next(words for limit, words in _LIKENESS if distance <= limit)
        speedup = float(2.0 ** self.log2[i])
        return Neighbour(row.id, row.task, row.language, row.device, row.words, speedup, distance, likeness)

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The memory as named arrays, for a file."""
        text = json.dumps({"columns": self.columns, "rows": [list(asdict(row).values()) for row in self.rows]})
        return {
            f"{prefix}.text": np.frombuffer(text.encode(), dtype=np.uint8),
            f"{prefix}.centre": self.centre.astype(np.float32),
            f"{prefix}.scale": self.scale.astype(np.float32),
            f"{prefix}.cells": self.cells,
            f"{prefix}.log2": self.log2.astype(np.float16),
        }

    @staticmethod
    def from_arrays(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Memory:
        """The memory that `arrays` named so; ValueError, KeyError or TypeError where it is none."""
        text = parsed(arrays[f"{prefix}.text"].tobytes())
        return Memory(
            tuple(str(name) for name in text["columns"]),
            arrays[f"{prefix}.centre"].astype(np.float64),
            arrays[f"{prefix}.scale"].astype(np.float64),
            arrays[f"{prefix}.cells"].astype(np.int8),
            arrays[f"{prefix}.log2"].astype(np.float64),
            tuple(Remembered(*(str(word) for word in row)) for row in text["rows"]),
        )


NOTHING = Memory((), np.zeros(0), np.zeros(0), np.zeros((0, 0), dtype=np.int8), np.zeros(0), ())


def _stored(standard: FloatArray) -> NDArray[np.int8]:
    steps = np.clip(np.round(np.nan_to_num(standard, nan=0.0) * STEPS), -_LARGEST, _LARGEST)
    return np.where(np.isnan(standard), MISSING, steps).astype(np.int8)


def _loaded(cells: NDArray[np.int8]) -> FloatArray:
    return np.where(cells == MISSING, np.nan, cells.astype(np.float64) / STEPS)
