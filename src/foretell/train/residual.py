"""Trains what the forecaster `calibrated` adds to `program`, on measured kernels with their evidence.

Error estimates (spreads, chances of failure) come from out-of-fold predictions, by problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.belief import Forecast
from foretell.kernels.forecast.residual import (
    KINDS,
    UNSEEN,
    Ensemble,
    Residual,
    Row,
    finding_of,
    group_of,
    means_of,
    table,
)
from foretell.kernels.measurement import Status
from foretell.train.features import SMALLEST_ERROR_LOG2, folds_of, spread_of
from foretell.trees import FloatArray, of_boosting, of_forest

FEWEST_OF_GROUP = 30  # errors, and a third as many problems, from which a group has a spread of its own
PRIOR = 10.0  # candidates that the chance which `program` states counts as
_ALIKE = {Status.CRASH: Status.LAUNCH_ERROR, Status.CHEAT: Status.WRONG}
_REFERENCE = ("recorded", "eager", "refused.", "device.", "reference.")
_COMPARISON = ("recorded", "eager", "refused.", "device.", "ratio", "common", "doubt")
MISSING = -9.0  # in the place of what is not known: below all logarithms and shares
_COMPARISON_WHOLE = frozenset({"candidate.own", "candidate.us", "candidate.host", "candidate.doubt", "language.torch"})

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Effort:
    """How many trees each part gets, and in how many parts problems are left out.

    With `forests` levels come from that many extremely randomised trees instead of boosted ones: better where kernels
    of one data set are spoken of, worse where several are mixed.
    """

    level: int = 60
    error: int = 40
    folds: int = 8
    forests: int = 0


OWN_KERNELS = Effort(forests=64)


@dataclass(frozen=True)
class Examples:
    """Measured candidates. `log2` is nan if a speedup is not known; `tells_failure` if failures are published beside
    them. A pool with many candidates weighs as the root of their number."""

    rows: Sequence[Row]
    log2: FloatArray
    status: Sequence[Status]
    problem: NDArray[np.str_]
    pool: NDArray[np.str_]
    tells_failure: Mask

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({name for row in self.rows for name in row}))

    def weights(self) -> FloatArray:
        _, place, counts = np.unique(self.pool, return_inverse=True, return_counts=True)
        return np.asarray(counts[place] ** -0.5, dtype=np.float64)

    def failed(self, kind: Status) -> Mask:
        return np.array([_ALIKE.get(status, status) is kind for status in self.status])


def reads_reference(name: str) -> bool:
    """Columns that are the same for all candidates of a problem on a device: they move levels and keep the order."""
    return name.startswith(_REFERENCE)


def reads_comparison(name: str) -> bool:
    """Columns that compare candidate and reference, few on purpose."""
    return name in _COMPARISON_WHOLE or name.startswith(_COMPARISON)


def reads_no_text(name: str) -> bool:
    """Columns that rest on the Programs alone."""
    return not name.startswith("text.")


def reads_all(name: str) -> bool:
    """Every column."""
    return True


def train(examples: Examples, seed: int, effort: Effort, about: Mapping[str, Any]) -> tuple[Residual, list[Forecast]]:
    """The model, and what models that were not shown a row's problem forecast of it."""
    held = list(folds_of(examples.problem, effort.folds, seed))
    everything = np.zeros(len(examples.rows), dtype=bool)
    parts = [fit_levels(examples, ~mask, seed, effort) for mask in held]
    means = _left_out(examples, held, [partial(means_of, part) for part in parts])
    errors = [fit_error(examples, means, ~mask, seed, effort) for mask in held]
    scales = np.exp(_left_out(examples, held, [error.predict for error in errors]))
    told: list[Forecast | None] = [None] * len(examples.rows)
    for mask, levels, error in zip(held, parts, errors, strict=True):
        model = Residual(
            levels, error, _spreads(examples, means, scales, mask), *count_failures(examples, ~mask), about
        )
        for i, forecast in zip(np.flatnonzero(mask), model.forecasts(_some(examples.rows, mask)), strict=True):
            told[i] = forecast
    model = Residual(
        fit_levels(examples, ~everything, seed, effort),
        fit_error(examples, means, ~everything, seed, effort),
        _spreads(examples, means, scales, everything),
        *count_failures(examples, ~everything),
        about,
    )
    return model, [forecast for forecast in told if forecast is not None]


def fit_levels(examples: Examples, shown: Mask, seed: int, effort: Effort) -> tuple[Ensemble, ...]:
    """Trees for what is to be added to the ratio of `program`: from the reference alone, and from the comparison; as
    forests, from all columns without those of the text, and with them."""
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

    said = np.array([row.get("ratio", 0.0) for row in examples.rows])
    known = shown & np.isfinite(examples.log2)
    errors, weights = (examples.log2 - said)[known], examples.weights()[known]
    found = []
    for number, reads in enumerate((reads_no_text, reads_all) if effort.forests else ()):
        names = tuple(name for name in examples.names if reads(name))
        forest = ExtraTreesRegressor(effort.forests, min_samples_leaf=5, max_features=0.3, random_state=seed + number)
        forest.fit(np.nan_to_num(_shown(examples, known, names), nan=MISSING), errors, weights)
        found.append(Ensemble(names, of_forest(forest, MISSING)))
    for number, reads in enumerate(() if effort.forests else (reads_reference, reads_comparison)):
        names = tuple(name for name in examples.names if reads(name))
        model = HistGradientBoostingRegressor(
            loss="absolute_error", max_iter=effort.level, learning_rate=0.08, max_leaf_nodes=6, min_samples_leaf=20,
            l2_regularization=5.0, max_features=0.5, random_state=seed + number,
        )  # fmt: skip
        model.fit(_shown(examples, known, names), errors, weights)
        found.append(Ensemble(names, of_boosting(model)))
    return tuple(found)


def fit_error(examples: Examples, means: FloatArray, shown: Mask, seed: int, effort: Effort) -> Ensemble:
    """Trees for the logarithm of the error of means that were made without the row's problem."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    known = shown & np.isfinite(examples.log2)
    names = tuple(name for name in examples.names if not name.startswith("text."))
    errors = np.log(np.maximum(SMALLEST_ERROR_LOG2, np.abs(means - examples.log2)))
    model = HistGradientBoostingRegressor(
        max_iter=effort.error, learning_rate=0.06, max_leaf_nodes=5, min_samples_leaf=30, l2_regularization=5.0,
        max_features=0.5, random_state=seed,
    )  # fmt: skip
    model.fit(_shown(examples, known, names), errors[known], examples.weights()[known])
    return Ensemble(names, of_boosting(model))


def count_failures(examples: Examples, shown: Mask) -> tuple[dict[str, tuple[float, ...]], tuple[float, ...]]:
    """The chance of each kind of failure among candidates of one finding, drawn towards what `program` states by
    `PRIOR` candidates; and how failures are parted into kinds on the whole."""
    known = shown & examples.tells_failure
    failed = np.column_stack([examples.failed(kind) for kind in KINDS]).astype(np.float64)
    counts = failed[known].sum(axis=0) + 1.0
    shares = counts / counts.sum()
    findings = np.array([finding_of(row) for row in examples.rows])
    stated = np.array([row["p_fail"] for row in examples.rows])
    found = {}
    for finding in np.unique(findings[known]):
        own = known & (findings == finding)
        prior = PRIOR * stated[own].mean() * shares
        found[str(finding)] = tuple(((failed[own].sum(axis=0) + prior) / (own.sum() + PRIOR)).tolist())
    return found, tuple(shares.tolist())


def _spreads(examples: Examples, means: FloatArray, scales: FloatArray, hidden: Mask) -> dict[str, tuple[float, ...]]:
    """Quantiles of errors over their scale in each group that is large enough, and over all."""
    known = np.isfinite(examples.log2) & ~hidden
    units = (examples.log2 - means) / scales
    groups = np.array([group_of(row) for row in examples.rows])
    found = {UNSEEN: spread_of(units[known], examples.problem[known])}
    for group in np.unique(groups[known]):
        own = known & (groups == group)
        if own.sum() >= FEWEST_OF_GROUP and len(set(examples.problem[own])) >= FEWEST_OF_GROUP // 3:
            found[str(group)] = spread_of(units[own], examples.problem[own])
    return found


def _left_out(
    examples: Examples, held: Sequence[Mask], models: Sequence[Callable[[Sequence[Row]], FloatArray]]
) -> FloatArray:
    """Out-of-fold predictions: each row by the model that was not trained on its problem."""
    found = np.full(len(examples.rows), math.nan)
    for mask, model in zip(held, models, strict=True):
        found[mask] = model(_some(examples.rows, mask))
    return found


def _some(rows: Sequence[Row], mask: Mask) -> list[Row]:
    return [rows[i] for i in np.flatnonzero(mask).tolist()]


def _shown(examples: Examples, mask: Mask, names: Sequence[str]) -> FloatArray:
    """The table of some rows; a column of which nothing is known there says 0."""
    found = table(_some(examples.rows, mask), names)
    found[:, ~np.isfinite(found).any(axis=0)] = 0.0
    return found
