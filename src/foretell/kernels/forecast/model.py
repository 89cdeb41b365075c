"""A trained model of candidates' speed and failure, as a value that goes to and from one file of plain arrays.

For each kind of device there are two tiers, `source` (before the build) and `build` (after it). A tier holds trees for
speed, for the size of its own errors and for failure, and how those errors were spread over candidates that were left
out: of operations it knew, of other operations, and of families it had never seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.forecast import model_file
from foretell.kernels.forecast.memory import NOTHING, Memory
from foretell.trees import FloatArray, Trees

FORMAT = 2
LEVELS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.995)
REGIMES = ("operation seen", "operation new", "family new")
LEAST_SCALE_LOG2 = 0.02
WIDER_PER_SHARE = 4.0  # a row with a quarter of its columns outside what was seen has twice the spread
WIDEST = 3.0
ESTIMATE = "relative.time_together"  # the column with what a dry run says, in log2 over the floor


@dataclass(frozen=True)
class Tier:
    """A model of one kind of device, before or after the build.

    Of the trees, `floor` says the candidate's time over the floor, `estimate` (where there is one) over what the dry
    run came to, both as log2; `error` how far off they are apt to be; `failure` a score. `spread` has, for each regime
    (and with `, foreign` for programs that no template made), the quantiles of errors in units of what `error` says;
    `chances` the slope and shift that turn the failure score into a chance. `low`, `high` and `typical` are of each
    column in training.
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    typical: FloatArray
    trees: Mapping[str, Trees]
    spread: Mapping[str, tuple[float, ...]]
    chances: Mapping[str, tuple[float, float]]

    def table(self, described: Sequence[Mapping[str, float]]) -> FloatArray:
        """Rows in the model's columns; nan where a row lacks one."""
        cells = [list(map(row.get, self.names, repeat(math.nan))) for row in described]
        return np.array(cells, dtype=np.float64).reshape(len(described), len(self.names))

    def means(self, table: FloatArray, headroom: FloatArray) -> FloatArray:
        """Expected log2 speedup of each row."""
        time = self.trees["floor"].predict(table)
        if "estimate" in self.trees:
            estimate = table[:, self.names.index(ESTIMATE)]
            second = estimate + self.trees["estimate"].predict(table)
            time = np.where(np.isfinite(estimate), (time + second) / 2.0, time)
        return np.asarray(headroom - time, dtype=np.float64)

    def scales(self, table: FloatArray) -> FloatArray:
        """How far off each of these is apt to be, in log2, before regime and range are considered."""
        return np.maximum(LEAST_SCALE_LOG2, np.exp(self.trees["error"].predict(table)))

    def widening(self, table: FloatArray) -> FloatArray:
        """How many times that a row is apt to be off that lies outside what training showed."""
        return np.minimum(WIDEST, 1.0 + WIDER_PER_SHARE * self.outside(table))

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
    """Tiers by `KIND.TIER`, the operations and families seen in training, and the reference's times by device.

    `memories` has, by kind of device, some of the kernels seen; a model may have none.
    """

    tiers: Mapping[str, Tier]
    tasks: frozenset[str]
    families: frozenset[str]
    references: Mapping[str, Mapping[str, Mapping[str, float]]]
    about: Mapping[str, Any]
    memories: Mapping[str, Memory] = field(default_factory=dict)

    def memory(self, kind: str) -> Memory:
        return self.memories.get(kind, NOTHING)

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
                "parts": sorted(tier.trees),
                "spread": {name: [round(v, 5) for v in values] for name, values in tier.spread.items()},
                "chances": tier.chances,
            }
            for name in ("low", "high", "typical"):
                arrays[f"{key}.{name}"] = getattr(tier, name).astype(np.float32)
            for part, trees in tier.trees.items():
                arrays |= trees.arrays(f"{key}.{part}")
        for kind, memory in self.memories.items():
            arrays |= memory.arrays(f"memory.{kind}")
        head = {
            "format": FORMAT,
            "memories": sorted(self.memories),
            "tiers": heads,
            "tasks": sorted(self.tasks),
            "families": sorted(self.families),
            "references": self.references,
            "about": self.about,
        }
        model_file.save(path, head, arrays)

    @staticmethod
    def load(path: Path | None = None) -> Model:
        """The model of a file, or the one that is shipped; BadModel where the file is none."""
        return model_file.load(path, "default.npz", FORMAT, Model._read)

    @staticmethod
    def _read(head: Any, arrays: model_file.Arrays) -> Model:
        tiers = {}
        for key, told in head["tiers"].items():
            tiers[key] = Tier(
                tuple(told["names"]),
                arrays[f"{key}.low"].astype(np.float64),
                arrays[f"{key}.high"].astype(np.float64),
                arrays[f"{key}.typical"].astype(np.float64),
                {part: Trees.from_arrays(f"{key}.{part}", arrays) for part in told["parts"]},
                {name: tuple(values) for name, values in told["spread"].items()},
                {name: (float(pair[0]), float(pair[1])) for name, pair in told["chances"].items()},
            )
            columns = len(tiers[key].names)
            if any(int(trees.column.max()) >= columns for trees in tiers[key].trees.values()):
                raise ValueError(f"trees of {key} ask for columns that are not there")
        memories = {kind: Memory.from_arrays(f"memory.{kind}", arrays) for kind in head.get("memories", ())}
        tasks, families = frozenset(head["tasks"]), frozenset(head["families"])
        return Model(tiers, tasks, families, head["references"], head["about"], memories)
