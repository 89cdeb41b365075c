"""Ensembles of trees as plain arrays: what a trained model is when it is shipped. Loading them runs no code.

All trees of an ensemble lie one after the other in flat arrays. A leaf points to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.sieve import Sieve

FloatArray = NDArray[np.float64]
_FIELDS = ("roots", "column", "threshold", "left", "right", "missing_left", "value")
_LINKS = ("roots", "left", "right")


@dataclass(frozen=True)
class Trees:
    """An ensemble: the prediction is `base` plus the sum over trees of the leaf that a row ends in.

    A row goes left where its value in `column` is at most `threshold`; a missing value goes where `missing_left` says.
    """

    base: float
    roots: NDArray[np.int32]
    column: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float32]

    def predict(self, table: FloatArray) -> FloatArray:
        """The ensemble's value for each row of a table with the columns it was trained on; nan is a missing value."""
        return self.base + self._sieve.sums(table)

    @cached_property
    def _sieve(self) -> Sieve:
        return Sieve.of(self)

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The ensemble as named arrays, for a file."""
        return {f"{prefix}.base": np.array([self.base])} | {f"{prefix}.{name}": getattr(self, name) for name in _FIELDS}

    @staticmethod
    def from_arrays(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Trees:
        """The ensemble that `arrays` named so; ValueError where something is missing or points outside."""
        try:
            fields = {name: arrays[f"{prefix}.{name}"] for name in _FIELDS}
            base = float(arrays[f"{prefix}.base"][0])
        except KeyError as error:
            raise ValueError(f"the model lacks {error}") from error
        if len({fields[name].size for name in _FIELDS[1:]}) != 1 or not _is_forest(*(fields[name] for name in _LINKS)):
            raise ValueError(f"the trees of {prefix} do not hang together")
        return Trees(base, **fields)


def _is_forest(roots: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> bool:
    """True where trees lie one after the other, and no node has two parents or is its own grandchild."""
    leaf = left == np.arange(left.size)
    nodes = np.concatenate((roots, left[~leaf], right[~leaf]))
    inside = bool(roots.size) and int(nodes.min()) == roots[0] == 0 and int(nodes.max()) < left.size
    return inside and int(np.bincount(nodes).max()) == 1 and bool((np.diff(roots) > 0).all())


def of_boosting(model: Any) -> Trees:
    """The trees of a fitted scikit-learn HistGradientBoosting model with one output."""
    columns, thresholds, lefts, rights, missing, values, roots = [], [], [], [], [], [], []
    start = 0
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
        start += len(nodes)
    base = float(np.ravel(model._baseline_prediction)[0])
    return Trees(
        base,
        np.array(roots, dtype=np.int32),
        np.concatenate(columns).astype(np.int16),
        _not_above(np.concatenate(thresholds)),
        np.concatenate(lefts).astype(np.int32),
        np.concatenate(rights).astype(np.int32),
        np.concatenate(missing),
        np.concatenate(values).astype(np.float32),
    )


def of_forest(model: Any, missing: float) -> Trees:
    """The trees of a fitted scikit-learn forest for regression whose training had `missing` in the place of nan."""
    columns, thresholds, lefts, rights, values, roots = [], [], [], [], [], []
    start = 0
    for each in model.estimators_:
        tree = each.tree_
        leaf = tree.children_left < 0
        own = np.arange(tree.node_count)
        roots.append(start)
        columns.append(np.where(leaf, 0, tree.feature))
        thresholds.append(np.where(leaf, np.inf, tree.threshold))
        lefts.append(start + np.where(leaf, own, tree.children_left))
        rights.append(start + np.where(leaf, own, tree.children_right))
        values.append(np.where(leaf, tree.value[:, 0, 0], 0.0) / len(model.estimators_))
        start += tree.node_count
    limits = np.concatenate(thresholds)
    return Trees(
        0.0,
        np.array(roots, dtype=np.int32),
        np.concatenate(columns).astype(np.int16),
        _not_above(limits),
        np.concatenate(lefts).astype(np.int32),
        np.concatenate(rights).astype(np.int32),
        missing <= limits,
        np.concatenate(values).astype(np.float32),
    )


def _not_above(thresholds: FloatArray) -> NDArray[np.float32]:
    """Rounded to float32 so that float32 inputs compare as they did in double precision."""
    near = thresholds.astype(np.float32)
    above = near.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
