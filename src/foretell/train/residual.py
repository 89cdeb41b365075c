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
from foretell.kernels.forecast.evidence import SMALL, SMALL_NAMES
from foretell.kernels.forecast.residual import (
    INTERCEPT,
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
SMALL_PENALTY = 1.0  # on the squared weights of what runs at small sizes showed
_NEWTON_STEPS = 50
_ALIKE = {Status.CRASH: Status.LAUNCH_ERROR, Status.CHEAT: Status.WRONG}
_REFERENCE = ("recorded", "eager", "refused.", "device.", "reference.")
_COMPARISON = ("recorded", "eager", "refused.", "device.", "ratio", "common", "doubt")
MOST_WITHIN_LOG2 = 1.5  # errors of the order beyond this teach nothing more
MISSING = -9.0  # in the place of what is not known: below all logarithms and shares
_COMPARISON_WHOLE = frozenset({"candidate.own", "candidate.us", "candidate.host", "candidate.doubt", "language.torch"})

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Effort:
    """How many trees each part gets, and in how many parts problems are left out.

    With `forests` levels come from that many extremely randomised trees instead of boosted ones (`PARTS`): better where
    kernels of one data set are spoken of, worse where several are mixed.
    """

    level: int = 60
    error: int = 40
    folds: int = 8
    forests: int = 0


OWN_KERNELS = Effort(forests=64)


@dataclass(frozen=True)
class Examples:
    """Measured candidates. `log2` is nan if a speedup is not known, `reference_log2` if the reference's time is not;
    `tells_failure` if failures are published beside them. A pool with many candidates weighs as the root of their
    number."""

    rows: Sequence[Row]
    log2: FloatArray
    reference_log2: FloatArray
    status: Sequence[Status]
    problem: NDArray[np.str_]
    pool: NDArray[np.str_]
    tells_failure: Mask

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that trees may read: all but those of runs at small sizes, which tell nothing of times."""
        return tuple(sorted({name for row in self.rows for name in row if not name.startswith(SMALL)}))

    def weights(self) -> FloatArray:
        _, place, counts = np.unique(self.pool, return_inverse=True, return_counts=True)
        return np.asarray(counts[place] ** -0.5, dtype=np.float64)

    def errors(self) -> FloatArray:
        """Error of `program`'s log2 ratio."""
        return np.asarray(self.log2 - np.array([row.get("ratio", 0.0) for row in self.rows]))

    def within(self) -> FloatArray:
        """Error of `program`'s log2 ratio beside the mean error of its pool, within `MOST_WITHIN_LOG2`: what is wrong
        with the order."""
        errors = self.errors()
        for pool in np.unique(self.pool[np.isfinite(errors)]):
            own = self.pool == pool
            errors[own] -= np.nanmean(errors[own])
        return np.clip(errors, -MOST_WITHIN_LOG2, MOST_WITHIN_LOG2)

    def reference(self) -> FloatArray:
        """Error of `program`'s log2 time of the reference."""
        return np.asarray(self.reference_log2 - np.array([row.get("reference.us", math.nan) for row in self.rows]))

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


# Forests of a model for device times: weight, error that is learnt, columns. The reference's own error moves all
# candidates of a problem alike.
PARTS: tuple[tuple[float, Callable[[Examples], FloatArray], Callable[[str], bool]], ...] = (
    (0.25, Examples.errors, reads_no_text),
    (0.25, Examples.errors, reads_all),
    (0.25, Examples.within, reads_no_text),
    (0.25, Examples.within, reads_all),
    (0.5, Examples.reference, reads_reference),
)


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
        model = Residual(levels, error, _spreads(examples, means, scales, mask), *_failures(examples, ~mask, about))
        for i, forecast in zip(np.flatnonzero(mask), model.forecasts(_some(examples.rows, mask)), strict=True):
            told[i] = forecast
    model = Residual(
        fit_levels(examples, ~everything, seed, effort),
        fit_error(examples, means, ~everything, seed, effort),
        _spreads(examples, means, scales, everything),
        *_failures(examples, ~everything, about),
    )
    return model, [forecast for forecast in told if forecast is not None]


def fit_levels(examples: Examples, shown: Mask, seed: int, effort: Effort) -> tuple[Ensemble, ...]:
    """Trees for what is to be added to the ratio of `program`: those of `PARTS`, or boosted ones from the reference
    alone, and from the comparison."""
    known = shown & np.isfinite(examples.log2)
    if effort.forests:
        return tuple(_forest(examples, known, seed + number, effort, *part) for number, part in enumerate(PARTS))
    return tuple(
        _boosted(examples, known, seed + number, effort, reads)
        for number, reads in enumerate((reads_reference, reads_comparison))
    )


def _forest(
    examples: Examples, known: Mask, seed: int, effort: Effort, weight: float,
    error: Callable[[Examples], FloatArray], reads: Callable[[str], bool],
) -> Ensemble:  # fmt: skip
    """One of `PARTS`; levels are averaged, so its values are scaled by its weight and their number."""
    from sklearn.ensemble import ExtraTreesRegressor

    errors = error(examples)
    known = known & np.isfinite(errors)
    names = tuple(name for name in examples.names if reads(name))
    forest = ExtraTreesRegressor(effort.forests, min_samples_leaf=3, max_features=0.3, random_state=seed)
    inputs = np.nan_to_num(_shown(examples, known, names), nan=MISSING)
    forest.fit(inputs, weight * len(PARTS) * errors[known], examples.weights()[known])
    return Ensemble(names, of_forest(forest, MISSING))


def _boosted(
    examples: Examples, known: Mask, seed: int, effort: Effort, reads: Callable[[str], bool]
) -> Ensemble:  # fmt: skip
    from sklearn.ensemble import HistGradientBoostingRegressor

    names = tuple(name for name in examples.names if reads(name))
    model = HistGradientBoostingRegressor(
        loss="absolute_error", max_iter=effort.level, learning_rate=0.08, max_leaf_nodes=6, min_samples_leaf=20,
        l2_regularization=5.0, max_features=0.5, random_state=seed,
    )  # fmt: skip
    model.fit(_shown(examples, known, names), examples.errors()[known], examples.weights()[known])
    return Ensemble(names, of_boosting(model))


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


def _failures(examples: Examples, shown: Mask, about: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a model says of failures, learnt from the rows that are shown, with `about` between."""
    failures, shares = count_failures(examples, shown)
    return failures, shares, about, fit_small(examples, shown, failures)


def fit_small(examples: Examples, shown: Mask, failures: Mapping[str, tuple[float, ...]]) -> dict[str, float]:
    """Weights of what runs at small sizes showed in the log odds of wrong results; none if no rows have such runs.

    Penalised logistic regression beside the chances of `failures`. If only some rows were run, they stand for all of
    those of problems with, and without, failures.
    """
    wrong = examples.failed(Status.WRONG)
    tried = np.array([f"{SMALL}wrong" in row for row in examples.rows]) & shown & examples.tells_failure
    if not (tried & wrong).any():
        return {}
    troubled = np.isin(examples.problem, np.unique(examples.problem[wrong & shown]))
    weights = np.zeros(len(tried))
    for stratum in (troubled & shown, ~troubled & shown):
        weights[tried & stratum] = stratum.sum() / max(1, (tried & stratum).sum())
    at = KINDS.index(Status.WRONG)
    rows = _some(examples.rows, tried)
    base = np.array([min(0.999, failures[finding_of(row)][at]) for row in rows])
    names = tuple(f"{SMALL}{name}" for name in SMALL_NAMES)
    columns = np.column_stack([np.ones(len(rows)), table(rows, names)])
    found = logistic(columns, wrong[tried], np.log(base / (1.0 - base)), weights[tried], SMALL_PENALTY)
    return dict(zip((INTERCEPT, *names), found.tolist(), strict=True))


def logistic(columns: FloatArray, outcome: Mask, offset: FloatArray, weights: FloatArray, penalty: float) -> FloatArray:
    """Weights of columns in log odds beside an offset, by Newton's method; `penalty` on the squares of all but the
    first."""
    found = np.zeros(columns.shape[1])
    ridge = np.diag([1e-6, *[penalty] * (len(found) - 1)])
    for _ in range(_NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(offset + columns @ found, -30.0, 30.0)))
        slope = columns.T @ (weights * (outcome - chance)) - ridge @ found
        curve = (columns * (weights * chance * (1.0 - chance))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curve, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))
    return np.asarray(found, dtype=np.float64)


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
