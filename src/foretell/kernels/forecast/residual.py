"""The model behind `calibrated`: corrections of `program`'s ratios, their uncertainty, and chances of failure.

Stored as one file of plain arrays. Rows are named numbers (`evidence`); each ensemble of trees reads its own columns.
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

from foretell.belief import Forecast
from foretell.kernels.forecast import model_file
from foretell.kernels.forecast.model import LEAST_SCALE_LOG2, LEVELS
from foretell.kernels.forecast.roofline import CERTAIN
from foretell.kernels.measurement import Status
from foretell.trees import FloatArray, Trees

FORMAT = 1
INTERCEPT = "intercept"
SHIPPED = {False: "residual_device.npz", True: "residual_eager.npz"}
LEVEL, ERROR = "level", "error"
KINDS = (Status.COMPILE_ERROR, Status.LAUNCH_ERROR, Status.WRONG, Status.TIMEOUT)
UNSEEN = "unseen"
_DOUBTFUL_LOG2 = 0.5  # of a candidate whose estimate counts as doubtful
_OWN_SHARE = 0.2  # of the time in kernels of its own, from which a candidate is no longer a library program
Row = Mapping[str, float]


@dataclass(frozen=True)
class Ensemble:
    """Boosted trees and the columns that they read."""

    names: tuple[str, ...]
    trees: Trees

    def predict(self, rows: Sequence[Row]) -> FloatArray:
        return self.trees.predict(table(rows, self.names))


def table(rows: Sequence[Row], names: Sequence[str]) -> FloatArray:
    """Rows as an array; nan if a row lacks a column."""
    cells = [list(map(row.get, names, repeat(math.nan))) for row in rows]
    return np.array(cells, dtype=np.float64).reshape(len(rows), len(names))


def means_of(levels: Sequence[Ensemble], rows: Sequence[Row]) -> FloatArray:
    """Expected log2 speedup of each row: `program`'s ratio plus the average correction."""
    ratios = np.array([row.get("ratio", 0.0) for row in rows])
    return np.asarray(ratios + np.mean([level.predict(rows) for level in levels], axis=0), dtype=np.float64)


def group_of(row: Row) -> str:
    """The calibration group of a row: device or eager time, and what its estimate rests on."""
    quantity = "eager" if row["eager"] else "device"
    if not row["recorded"]:
        return f"{quantity}, not recorded"
    if row["candidate.own"] < _OWN_SHARE:
        return f"{quantity}, library calls"
    return f"{quantity}, {'doubtful' if row['candidate.doubt'] > _DOUBTFUL_LOG2 else 'known'} kernels"


def finding_of(row: Row) -> str:
    """The class of failure of a row: what `program` found wrong, and the chance of failure that it states."""
    refused = next((name for name, value in row.items() if name.startswith("refused.") and value), "")
    return f"{refused.removeprefix('refused.') or 'nothing'} {row['p_fail']:.2f}"


def with_small_runs(weights: Mapping[str, float], row: Row, chances: tuple[float, ...]) -> tuple[float, ...]:
    """Chances of each of `KINDS` with that of wrong results moved by what runs at small sizes showed, if there were
    any."""
    known = [weight * row[name] for name, weight in weights.items() if name in row]
    if not known:
        return chances
    at = KINDS.index(Status.WRONG)
    odds = math.exp(weights.get(INTERCEPT, 0.0) + sum(known)) * chances[at] / max(1e-9, 1.0 - chances[at])
    return (*chances[:at], odds / (1.0 + odds), *chances[at + 1 :])


@dataclass(frozen=True)
class Residual:
    """The model. `levels` are averaged and added to `program`'s log2 ratio; `error` predicts the log of the error left.

    `spread` has, for each group and for `UNSEEN` ones, the quantiles of errors in units of that. `failures` has the
    chance of each of `KINDS`, as counted among candidates of one `finding_of`; for other
    findings the chance is the one that `program` states, divided among `KINDS` by `shares`. `small` has the weights
    of what runs at small sizes showed in the log odds of wrong results; it is empty if such runs are of no use.
    """

    levels: tuple[Ensemble, ...]
    error: Ensemble
    spread: Mapping[str, tuple[float, ...]]
    failures: Mapping[str, tuple[float, ...]]
    shares: tuple[float, ...]
    about: Mapping[str, Any]
    small: Mapping[str, float] = field(default_factory=dict)

    def means(self, rows: Sequence[Row]) -> FloatArray:
        """Expected log2 speedup of each row."""
        return means_of(self.levels, rows)

    def scales(self, rows: Sequence[Row]) -> FloatArray:
        return np.maximum(LEAST_SCALE_LOG2, np.exp(self.error.predict(rows)))

    def failing(self, rows: Sequence[Row]) -> list[dict[Status, float]]:
        """The chance of each kind of failure for each row; together at most `CERTAIN`."""
        found = []
        for row in rows:
            usual = tuple(share * row["p_fail"] for share in self.shares)
            chances = with_small_runs(self.small, row, self.failures.get(finding_of(row), usual))
            scale = min(1.0, CERTAIN / max(sum(chances), 1e-9))
            found.append({kind: scale * chance for kind, chance in zip(KINDS, chances, strict=True)})
        return found

    def forecasts(self, rows: Sequence[Row]) -> list[Forecast]:
        """The forecast for each row."""
        chances = [max(1.0 - CERTAIN, sum(each.values())) for each in self.failing(rows)]
        told = []
        for row, mean, scale, chance in zip(rows, self.means(rows), self.scales(rows), chances, strict=True):
            shape = np.array(self.spread.get(group_of(row), self.spread[UNSEEN]))
            told.append(Forecast.from_quantiles(LEVELS, (mean + scale * shape).tolist(), chance))
        return told

    def save(self, path: Path) -> None:
        """Write the model, all or nothing."""
        arrays: dict[str, NDArray[Any]] = {}
        ensembles = self._ensembles()
        for name, ensemble in ensembles.items():
            arrays |= ensemble.trees.arrays(name)
        head = {
            "format": FORMAT,
            "columns": {name: ensemble.names for name, ensemble in ensembles.items()},
            "spread": {name: [round(value, 5) for value in values] for name, values in self.spread.items()},
            "failures": self.failures,
            "shares": self.shares,
            "small": {name: round(value, 4) for name, value in self.small.items()},
            "about": self.about,
        }
        model_file.save(path, head, arrays)

    def _ensembles(self) -> dict[str, Ensemble]:
        levels = {f"{LEVEL}{i}": level for i, level in enumerate(self.levels)}
        return {**levels, ERROR: self.error}

    @staticmethod
    def load(path: Path | None = None, eager: bool = False) -> Residual:
        """The model of a file, or the shipped one for device or eager times. Raises BadModel if it cannot be read."""
        return model_file.load(path, SHIPPED[eager], FORMAT, Residual._read)

    @staticmethod
    def _read(head: Any, arrays: model_file.Arrays) -> Residual:
        found = {
            name: Ensemble(tuple(columns), Trees.from_arrays(name, arrays)) for name, columns in head["columns"].items()
        }
        for name, each in found.items():
            if int(each.trees.column.max()) >= len(each.names):
                raise ValueError(f"the trees of {name} read columns that do not exist")
        spread = {name: tuple(map(float, values)) for name, values in head["spread"].items()}
        if UNSEEN not in spread or any(len(values) != len(LEVELS) for values in spread.values()):
            raise ValueError("its spreads are incomplete")
        shares = tuple(map(float, head["shares"]))
        failures = {str(name): tuple(map(float, values)) for name, values in head["failures"].items()}
        if any(len(values) != len(KINDS) or min(values) < 0 for values in (shares, *failures.values())):
            raise ValueError("its chances of failure are incomplete")
        small = {str(name): float(value) for name, value in head.get("small", {}).items()}
        if not all(map(math.isfinite, small.values())):
            raise ValueError("its weights of small runs are not numbers")
        return Residual(
            tuple(found[name] for name in sorted(found) if name.startswith(LEVEL)),
            found[ERROR],
            spread,
            failures,
            shares,
            head["about"],
            small,
        )
