"""Boosted trees as plain arrays: what a trained model is when it is shipped. Loading them runs no code.

All trees of an ensemble lie one after the other in flat arrays. A leaf points to itself, so that a fixed number of
steps brings every row of every tree to its leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_ROWS = 512  # rows that go through the trees together: what is in work then fits the cache

_FIELDS = ("roots", "column", "threshold", "left", "right", "missing_left", "value")


@dataclass(frozen=True)
class Trees:
    """An ensemble: the prediction is `base` plus the sum over trees of the leaf that a row ends in.

    A row goes left where its value in `column` is at most `threshold`; a missing value goes where `missing_left` says.
    """

    base: float
    depth: int
    roots: NDArray[np.int32]
    column: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float32]

    def predict(self, table: FloatArray) -> FloatArray:
        """The ensemble's value for each row of a table with the columns it was trained on; nan is a missing value."""
        found = np.full(len(table), self.base)
        for start in range(0, len(table), _ROWS):
            rows = np.asarray(table[start : start + _ROWS], dtype=np.float32)
            found[start : start + _ROWS] += self._sums(rows)
        return found

    def _sums(self, rows: NDArray[np.float32]) -> FloatArray:
        at = np.broadcast_to(self.roots[:, None], (self.roots.size, len(rows))).copy()
        flat, width = rows.ravel(), rows.shape[1]
        offsets = (np.arange(len(rows), dtype=np.int64) * width)[None, :]
        gaps = bool(np.isnan(rows).any())
        for _ in range(self.depth):
            values = flat[self.column[at] + offsets]
            goes_left = values <= self.threshold[at]
            if gaps:
                goes_left |= np.isnan(values) & self.missing_left[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return np.asarray(self.value[at].sum(axis=0), dtype=np.float64)

    def over(self, columns: NDArray[np.int64]) -> Trees:
        """The same trees for a wider table, in which `columns` are those it was trained on."""
        return replace(self, column=columns[self.column].astype(np.int16))

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The ensemble as named arrays, for a file."""
        head = {f"{prefix}.base": np.array([self.base]), f"{prefix}.depth": np.array([self.depth])}
        return head | {f"{prefix}.{name}": getattr(self, name) for name in _FIELDS}

    @staticmethod
    def from_arrays(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Trees:
        """The ensemble that `arrays` named so; ValueError where something is missing or points outside."""
        try:
            fields = {name: arrays[f"{prefix}.{name}"] for name in _FIELDS}
            base, depth = float(arrays[f"{prefix}.base"][0]), int(arrays[f"{prefix}.depth"][0])
        except KeyError as error:
            raise ValueError(f"the model lacks {error}") from error
        size = fields["value"].size
        inside = all(
            fields[name].size and 0 <= int(fields[name].min()) <= int(fields[name].max()) < size
            for name in ("roots", "left", "right")
        )
        if not inside or len({fields[name].size for name in _FIELDS[1:]}) != 1 or not 0 < depth < 200:
            raise ValueError(f"the trees of {prefix} do not hang together")
        return Trees(base, depth, **fields)


def of_boosting(model: Any) -> Trees:
    """The trees of a fitted scikit-learn HistGradientBoosting model with one output."""
    columns, thresholds, lefts, rights, missing, values, roots = [], [], [], [], [], [], []
    start = deepest = 0
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        own = np.arange(len(nodes))
        roots.append(start)
        columns.append(np.where(leaf, 0, nodes["feature_idx"]))
        thresholds.append(np.where(leaf, np.inf, nodes["num_threshold"]))
        lefts.append(start + np.where(leaf, own, nodes["left"]))
        rights.append(start + np.where(leaf, own, nodes["right"]))
        missing.append(nodes["missing_go_to_left"].astype(bool) | leaf)
        values.append(np.where(leaf, nodes["value"], 0.0))
        deepest = max(deepest, int(nodes["depth"].max()))
        start += len(nodes)
    base = float(np.ravel(model._baseline_prediction)[0])
    return Trees(
        base,
        max(1, deepest),
        np.array(roots, dtype=np.int32),
        np.concatenate(columns).astype(np.int16),
        _not_above(np.concatenate(thresholds)),
        np.concatenate(lefts).astype(np.int32),
        np.concatenate(rights).astype(np.int32),
        np.concatenate(missing),
        np.concatenate(values).astype(np.float32),
    )


def _not_above(thresholds: FloatArray) -> NDArray[np.float32]:
    """Rounded to float32 so that float32 inputs compare as they did in double precision."""
    near = thresholds.astype(np.float32)
    above = near.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
