"""Trains the feature model on the corpus: boosted trees for speed, for the size of their own errors, and for failure.

Errors are learnt from rows that were left out: by text within an operation, by whole operations, and by whole families.
So what the model says of its doubt about new operations and families is what it was seen to get wrong there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.corpus.splits import by_tokens
from foretell.kernels.device import Device
from foretell.kernels.evaluate.pools import TIERS, subject_of
from foretell.kernels.evaluate.pools import Tier as Shown
from foretell.kernels.forecast.inputs import describe_subject, task_numbers
from foretell.kernels.forecast.model import LEVELS, REGIMES, Model, Tier
from foretell.kernels.forecast.trees import FloatArray, Trees, of_boosting
from foretell.kernels.library import get

LEAST_FOREIGN = 100  # errors from which the spread of programs that no template made gets a shape of its own
SMALLEST_ERROR_LOG2 = 0.01
_ABSOLUTE_TASK = ("task.floor_us", "task.flops", "task.bytes", "task.side_max", "task.side_min")
_SPEED = {"learning_rate": 0.06, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 1.0}

Say = Callable[[str], None]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Effort:
    """How many trees each part gets, and in how many parts rows are left out; less makes a quick model for tests."""

    speed: int = 300
    error: int = 80
    failure: int = 200
    folds: int = 4


@dataclass(frozen=True)
class Rows:
    """The rows of one kind and tier, as a model sees them; `log2` is nan where a row failed.

    `texts` are alike for programs that differ in numbers only, and for all programs of an operation that no template
    made: whoever asks about such a program has not shown its siblings either.
    """

    names: tuple[str, ...]
    table: FloatArray
    log2: FloatArray
    headroom: FloatArray
    tasks: NDArray[np.str_]
    families: NDArray[np.str_]
    foreign: Mask
    texts: NDArray[np.str_]

    @property
    def works(self) -> Mask:
        return np.isfinite(self.log2)


def train(
    rows: Sequence[Mapping[str, Any]], devices: Mapping[str, Device], seed: int, effort: Effort, say: Say
) -> Model:
    """A model of the rows for training; reference times are taken from all rows, since they are no candidate's."""
    references = reference_times(rows)
    chosen = [r for r in rows if r["split"] == "train"]
    tiers = {}
    for kind in sorted({r["kind"] for r in chosen}):
        for tier in TIERS:
            own = [r for r in chosen if r["kind"] == kind and (tier == "source" or r["features"])]
            prepared = prepare(own, devices, references, tier)
            say(f"{kind}, {tier}: {len(own)} rows, {len(prepared.names)} columns")
            tiers[f"{kind}.{tier}"] = fit_tier(prepared, seed, effort, say)
    return Model(
        tiers,
        frozenset(f"{r['kind']} {r['task']}" for r in chosen),
        frozenset(f"{r['kind']} {r['family']}" for r in chosen),
        references,
        {"rows": len(chosen), "seed": seed},
    )


def reference_times(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """The reference's microseconds by device, task and workload: medians over rows."""
    seen: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for r in rows:
        for w in r["workloads"]:
            seen[r["device"], r["task"], w["name"]].append(w["reference_us"])
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (device, task, workload), times in sorted(seen.items()):
        found.setdefault(device, {}).setdefault(task, {})[workload] = round(float(np.median(times)), 3)
    return found


def prepare(
    rows: Sequence[Mapping[str, Any]],
    devices: Mapping[str, Device],
    references: Mapping[str, Mapping[str, Mapping[str, float]]],
    tier: Shown,
) -> Rows:
    """Describe rows for a tier: what forecasters see of a source, and what the build showed."""
    about: dict[tuple[str, str], dict[str, float]] = {}
    described = []
    for r in rows:
        key = (r["device"], r["task"])
        if key not in about:
            known = references.get(r["device"], {}).get(r["task"], {})
            about[key] = task_numbers(get(r["task"], r["kind"]), devices[r["device"]], known)
        described.append(describe_subject(about[key], devices[r["device"]], subject_of(r, tier)))
    names = tuple(sorted({name for row in described for name in row}))
    at = {name: i for i, name in enumerate(names)}
    table = np.full((len(rows), len(names)), np.nan)
    for row, found in zip(table, described, strict=True):
        for name, value in found.items():
            row[at[name]] = value
    foreign = np.array([r["origin"] != "template" for r in rows])
    texts = np.array([f"{r['task']}, foreign" for r in rows], dtype=object)
    for number, members in enumerate(by_tokens(rows, range(len(rows))).values()):
        texts[[i for i in members if not foreign[i]]] = str(number)
    return Rows(
        names,
        table,
        np.array([np.log2(r["speedup"]) if r["speedup"] else np.nan for r in rows]),
        np.array([about[r["device"], r["task"]]["headroom"] for r in rows]),
        np.array([r["task"] for r in rows]),
        np.array([r["family"] for r in rows]),
        foreign,
        texts.astype(np.str_),
    )


def fit_tier(rows: Rows, seed: int, effort: Effort, say: Say) -> Tier:
    """Fit all parts of a tier, errors and chances from rows that were left out."""
    works = rows.works
    absolute, relative, level = _fit_speed(rows, works, seed, effort.speed)
    left_out: dict[str, FloatArray] = {}
    scores: dict[str, FloatArray] = {}
    groups = {REGIMES[0]: rows.texts, REGIMES[1]: rows.tasks, REGIMES[2]: rows.families}
    for regime, group in groups.items():
        means, score = np.full(len(works), np.nan), np.full(len(works), np.nan)
        for held in _folds(group, effort.folds, seed):
            parts = _fit_speed(rows, works & ~held, seed, effort.speed)
            means[held] = _means(parts, rows.table[held], rows.headroom[held])
            score[held] = _fit_failure(rows, ~held, seed, effort.failure).predict(rows.table[held])
        left_out[regime], scores[regime] = means, score
        off = np.abs(means - rows.log2)[works]
        say(f"  {regime}: {np.median(off):.3f} off in the median, {np.sqrt(np.mean(off**2)):.3f} root mean square")
    error = _fit_error(rows, left_out, seed, effort.error)
    scale = np.exp(error.predict(rows.table))
    spread = {}
    for regime, means in left_out.items():
        units = (rows.log2 - means) / scale
        # A new operation (or family) is one draw, however many candidates it has: each counts the same.
        owners = rows.families if regime == REGIMES[2] else rows.tasks
        spread[regime] = _quantiles(units[works], owners[works])
        foreign = works & rows.foreign
        enough = int(foreign.sum()) >= LEAST_FOREIGN
        own = _quantiles(units[foreign], owners[foreign]) if enough else spread[regime]
        spread[f"{regime}, foreign"] = own
    known = np.where(np.isfinite(rows.table), rows.table, np.nan)
    empty = ~np.isfinite(known).any(axis=0)
    known[:, empty] = 0.0
    return Tier(
        rows.names,
        np.nanmin(known, axis=0),
        np.nanmax(known, axis=0),
        np.nanmedian(known, axis=0),
        level,
        {
            "absolute": absolute,
            "relative": relative,
            "error": error,
            "failure": _fit_failure(rows, np.ones(len(works), dtype=bool), seed, effort.failure),
        },
        spread,
        {regime: _logistic(score, ~works) for regime, score in scores.items()},
    )


def _folds(groups: NDArray[Any], folds: int, seed: int) -> Iterator[Mask]:
    """Masks of what is held out, whole groups at a time."""
    distinct = np.unique(groups)
    np.random.default_rng(seed).shuffle(distinct)
    for start in range(folds):
        yield np.isin(groups, distinct[start::folds])


def _usual(rows: Rows, chosen: Mask) -> dict[str, float]:
    """The median log2 speedup of each operation among the chosen."""
    return {task: float(np.median(rows.log2[chosen & (rows.tasks == task)])) for task in np.unique(rows.tasks[chosen])}


def _fit_speed(rows: Rows, chosen: Mask, seed: int, count: int) -> tuple[Trees, Trees, tuple[float, float]]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    usual = _usual(rows, chosen)
    rooms = {task: float(np.median(rows.headroom[rows.tasks == task])) for task in usual}
    design = np.array([[1.0, rooms[task]] for task in usual])
    level = np.linalg.lstsq(design, np.array(list(usual.values())), rcond=None)[0]
    within = rows.log2[chosen] - np.array([usual[task] for task in rows.tasks[chosen]])
    columns = np.array([i for i, name in enumerate(rows.names) if name not in _ABSOLUTE_TASK])
    settings: dict[str, Any] = _SPEED | {"max_iter": count, "max_features": 0.5}
    first = HistGradientBoostingRegressor(random_state=seed, **settings)
    first.fit(rows.table[chosen], (rows.log2 - rows.headroom)[chosen])
    second = HistGradientBoostingRegressor(random_state=seed + 1, **settings)
    second.fit(rows.table[chosen][:, columns], within)
    return of_boosting(first), of_boosting(second).over(columns), (float(level[0]), float(level[1]))


def _means(parts: tuple[Trees, Trees, tuple[float, float]], table: FloatArray, headroom: FloatArray) -> FloatArray:
    absolute, relative, level = parts
    first = absolute.predict(table) + headroom
    return np.asarray((first + relative.predict(table) + level[0] + level[1] * headroom) / 2.0)


def _fit_error(rows: Rows, left_out: Mapping[str, FloatArray], seed: int, count: int) -> Trees:
    """Trees for the logarithm of the error on new operations, the regime between the two others."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    works = rows.works
    errors = np.log(np.maximum(SMALLEST_ERROR_LOG2, np.abs(left_out[REGIMES[1]] - rows.log2)))[works]
    model = HistGradientBoostingRegressor(
        max_iter=count, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=60, random_state=seed
    )
    return of_boosting(model.fit(rows.table[works], errors))


def _fit_failure(rows: Rows, chosen: Mask, seed: int, count: int) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=count, learning_rate=0.06, max_leaf_nodes=31, min_samples_leaf=20, max_features=0.5, random_state=seed
    )
    return of_boosting(model.fit(rows.table[chosen], ~rows.works[chosen]))


def _quantiles(units: FloatArray, owners: NDArray[np.str_]) -> tuple[float, ...]:
    """Quantiles at `LEVELS` where every owner has the same weight, however many units it has."""
    _, owner, counts = np.unique(owners, return_inverse=True, return_counts=True)
    order = np.argsort(units)
    weights = (1.0 / counts)[owner][order]
    places = (np.cumsum(weights) - weights / 2.0) / weights.sum()
    return tuple(float(q) for q in np.interp(LEVELS, places, units[order]))


def _logistic(score: FloatArray, failed: Mask) -> tuple[float, float]:
    """Slope and shift for which the chances fit best what was left out (Newton's method, a little drawn in)."""
    design = np.column_stack([score, np.ones(len(score))])
    weights = np.array([1.0, 0.0])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (chance - failed) + 1e-3 * (weights - np.array([1.0, 0.0]))
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + 1e-3 * np.eye(2)
        weights = weights - np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])
