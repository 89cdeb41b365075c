"""A trained model of candidates' speed and failure, as a value that goes to and from one file of plain arrays.

For each kind of device there are two tiers, `source` (before the build) and `build` (after it). A tier holds trees for
speed, for the size of its own errors and for failure, and how those errors were spread over candidates that were left
out: of operations it knew, of other operations, and of families it had never seen.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.forecast.trees import FloatArray, Trees

FORMAT = 1
LEVELS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.995)
REGIMES = ("operation seen", "operation new", "family new")
LEAST_SCALE_LOG2 = 0.02
_PARTS = ("absolute", "relative", "error", "failure")


class BadModel(ValueError):
    """The file is not a model of this version."""


@dataclass(frozen=True)
class Tier:
    """A model of one kind of device, before or after the build.

    `absolute` says log2 speedup less the headroom; `relative` says it less the usual of the operation, which is
    `level[0] + level[1] * headroom`. `spread` has, for each regime (and with `, foreign` for programs that no template
    made), the quantiles of errors in units of what `error` says; `chances` the slope and shift that turn the failure
    score into a chance. `low`, `high` and `typical` are of each column in training.
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    typical: FloatArray
    level: tuple[float, float]
    trees: Mapping[str, Trees]
    spread: Mapping[str, tuple[float, ...]]
    chances: Mapping[str, tuple[float, float]]

    def table(self, described: Sequence[Mapping[str, float]]) -> FloatArray:
        """Rows in the model's columns; nan where a row lacks one."""
        cells = [[row.get(name, math.nan) for name in self.names] for row in described]
        return np.array(cells, dtype=np.float64).reshape(len(described), len(self.names))

    def means(self, table: FloatArray, headroom: FloatArray) -> FloatArray:
        """Expected log2 speedup of each row."""
        absolute = self.trees["absolute"].predict(table) + headroom
        relative = self.trees["relative"].predict(table) + self.level[0] + self.level[1] * headroom
        return np.asarray((absolute + relative) / 2.0, dtype=np.float64)

    def scales(self, table: FloatArray) -> FloatArray:
        """How far off each of these is apt to be, in log2, before the regime is considered."""
        return np.maximum(LEAST_SCALE_LOG2, np.exp(self.trees["error"].predict(table)))

    def failures(self, table: FloatArray, regime: str) -> FloatArray:
        slope, shift = self.chances[regime]
        return np.asarray(1.0 / (1.0 + np.exp(-(slope * self.trees["failure"].predict(table) + shift))))

    def outside(self, table: FloatArray) -> FloatArray:
        """The share of each row's known columns that lie outside what training showed."""
        known = np.isfinite(table)
        beyond = known & ((table < self.low) | (table > self.high))
        return np.asarray(beyond.sum(axis=1) / np.maximum(1, known.sum(axis=1)), dtype=np.float64)


@dataclass(frozen=True)
class Model:
    """Tiers by `KIND.TIER`, the operations and families seen in training, and the reference's times by device."""

    tiers: Mapping[str, Tier]
    tasks: frozenset[str]
    families: frozenset[str]
    references: Mapping[str, Mapping[str, Mapping[str, float]]]
    about: Mapping[str, Any]

    def regime(self, kind: str, task: str, family: str) -> str:
        if f"{kind} {task}" in self.tasks:
            return REGIMES[0]
        return REGIMES[1] if f"{kind} {family}" in self.families else REGIMES[2]

    def save(self, path: Path) -> None:
        """Write the model, all or nothing."""
        arrays: dict[str, NDArray[Any]] = {}
        heads: dict[str, Any] = {}
        for key, tier in self.tiers.items():
            heads[key] = {
                "names": tier.names,
                "level": tier.level,
                "spread": {name: [round(v, 5) for v in values] for name, values in tier.spread.items()},
                "chances": tier.chances,
            }
            for name in ("low", "high", "typical"):
                arrays[f"{key}.{name}"] = getattr(tier, name).astype(np.float32)
            for part in _PARTS:
                arrays |= tier.trees[part].arrays(f"{key}.{part}")
        head = {
            "format": FORMAT,
            "tiers": heads,
            "tasks": sorted(self.tasks),
            "families": sorted(self.families),
            "references": self.references,
            "about": self.about,
        }
        arrays["head"] = np.frombuffer(json.dumps(head, sort_keys=True).encode(), dtype=np.uint8)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez_compressed(file, **dict(sorted(arrays.items())))  # type: ignore[arg-type]
        partial.replace(path)

    @staticmethod
    def load(path: Path | None = None) -> Model:
        """The model of a file, or the one that is shipped; BadModel where the file is none."""
        try:
            if path is None:
                place = resources.files("foretell.kernels.forecast") / "models" / "default.npz"
                with resources.as_file(place) as found:
                    return Model._read(found)
            return Model._read(path)
        except (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, BadZipFile, zlib.error) as error:
            raise BadModel(f"{path or 'the shipped file'} is not a model of this version: {error}") from error

    @staticmethod
    def _read(path: Path) -> Model:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(arrays["head"].tobytes())
        if head["format"] != FORMAT:
            raise ValueError(f"format {head['format']}, expected {FORMAT}")
        tiers = {}
        for key, told in head["tiers"].items():
            tiers[key] = Tier(
                tuple(told["names"]),
                arrays[f"{key}.low"].astype(np.float64),
                arrays[f"{key}.high"].astype(np.float64),
                arrays[f"{key}.typical"].astype(np.float64),
                (float(told["level"][0]), float(told["level"][1])),
                {part: Trees.from_arrays(f"{key}.{part}", arrays) for part in _PARTS},
                {name: tuple(values) for name, values in told["spread"].items()},
                {name: (float(pair[0]), float(pair[1])) for name, pair in told["chances"].items()},
            )
            columns = len(tiers[key].names)
            if any(int(trees.column.max()) >= columns for trees in tiers[key].trees.values()):
                raise ValueError(f"trees of {key} ask for columns that are not there")
        return Model(tiers, frozenset(head["tasks"]), frozenset(head["families"]), head["references"], head["about"])
