"""Trains the feature model on the corpus: boosted trees for speed, for the size of their own errors, and for failure.

Errors are learnt from rows that were left out: by text within an operation, by whole operations, and by whole families.
So what the model says of its doubt about new operations and families is what it was seen to get wrong there.
"""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.belief import Forecast
from foretell.kernels.corpus.splits import by_tokens
from foretell.kernels.device import Device
from foretell.kernels.evaluate.pools import TIERS, subject_of
from foretell.kernels.evaluate.pools import Tier as Shown
from foretell.kernels.forecast.inputs import describe_subject, task_numbers
from foretell.kernels.forecast.model import ESTIMATE, LEAST_SCALE_LOG2, LEVELS, REGIMES, Model, Tier
from foretell.kernels.forecast.roofline import CERTAIN
from foretell.kernels.forecast.trained import LEAST_CHANCE, told
from foretell.kernels.library import get
from foretell.received import replacing
from foretell.train.memory import remember
from foretell.trees import FloatArray, Trees, of_boosting

FOREIGN_TIMES = 4  # a program that no template made is shown: they are few, and what users bring
LEAST_FOREIGN = 100  # errors from which the spread of programs that no template made gets a shape of its own
SMALLEST_ERROR_LOG2 = 0.01
# Chosen by leaving families out of the rows for training: what a source alone cannot tell has no median to aim at.
_LOSS = {"source": "squared_error", "build": "absolute_error"}
_SPEED = {"learning_rate": 0.06, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 1.0}

Say = Callable[[str], None]
Mask = NDArray[np.bool_]
Told = tuple[FloatArray, FloatArray, FloatArray]
Each = Callable[[Callable[[Mask], Told], Sequence[Mask]], Iterable[Told]]


@dataclass(frozen=True)
class Effort:
    """How many trees each part gets, and in how many parts rows are left out; less makes a quick model for tests.

    `jobs` processes share the work; their number changes nothing else.
    """

    speed: int = 200
    error: int = 80
    failure: int = 150
    folds: int = 10
    jobs: int = 1


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

    def repeated(self, chosen: Mask) -> NDArray[np.intp]:
        """The places of some rows, those that no template made several times."""
        return np.repeat(np.arange(len(chosen)), np.where(self.foreign, FOREIGN_TIMES, 1) * chosen)

    def shown(self, chosen: Mask | NDArray[np.intp]) -> FloatArray:
        """The table of some rows; a column of which nothing is known there says 0."""
        found = self.table[chosen]
        found[:, ~np.isfinite(found).any(axis=0)] = 0.0
        return found

    def only(self, wanted: Callable[[str], bool]) -> Rows:
        """The rows with some columns only."""
        places = [i for i, name in enumerate(self.names) if wanted(name)]
        return replace(self, names=tuple(self.names[i] for i in places), table=self.table[:, places])


def train(
    rows: Sequence[Mapping[str, Any]],
    devices: Mapping[str, Device],
    seed: int,
    effort: Effort,
    say: Say,
    wanted: Callable[[str], bool] = lambda column: True,
    tiers: Sequence[Shown] = TIERS,
) -> Model:
    """A model of the rows for training; reference times are taken from all rows, since they are no candidate's.

    `wanted` picks the columns that the model is to see, `tiers` what it is to know: the source, the build.
    """
    references = reference_times(rows)
    chosen = [r for r in rows if r["split"] == "train"]
    fitted = {}
    for kind in sorted({r["kind"] for r in chosen}):
        for tier in tiers:
            own = [r for r in chosen if r["kind"] == kind and (tier == "source" or r["features"])]
            prepared = prepare(own, devices, references, tier).only(wanted)
            say(f"{kind}, {tier}: {len(own)} rows, {len(prepared.names)} columns")
            with _workers(effort.jobs) as each:
                fitted[f"{kind}.{tier}"] = fit_tier(prepared, tier, seed, effort, say, each)
    model = Model(
        fitted,
        frozenset(f"{r['kind']} {r['task']}" for r in chosen),
        frozenset(f"{r['kind']} {r['family']}" for r in chosen),
        references,
        {"rows": len(chosen), "seed": seed},
    )
    return replace(model, memories=remember(model, chosen, devices, seed))


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


def fit_tier(rows: Rows, tier: Shown, seed: int, effort: Effort, say: Say, each: Each = map) -> Tier:
    """Fit all parts of a tier, errors and chances from rows that were left out."""
    return _with_doubts(rows, tier, _left_out(rows, tier, seed, effort, say, each), seed, effort)


def left_out(
    rows: Sequence[Mapping[str, Any]],
    devices: Mapping[str, Device],
    kind: str,
    seed: int,
    effort: Effort,
    say: Say,
    parts: Path,
) -> dict[str, dict[tuple[str, str], Forecast]]:
    """What the feature model says of built rows for training that it was not shown: by regime, device and id.

    What each part of the rows came to is kept in the folder `parts`, so that work that is cut goes on from there.
    """
    references = reference_times(rows)
    own = [r for r in rows if r["split"] == "train" and r["kind"] == kind and r["features"]]
    prepared = prepare(own, devices, references, "build")
    with _workers(effort.jobs) as each:
        by_regime = _left_out(prepared, "build", seed, effort, say, each, REGIMES[1:], parts)
    doubts = _doubts(prepared, by_regime, seed, effort)
    found: dict[str, dict[tuple[str, str], Forecast]] = {}
    for regime, (means, wider, scores) in by_regime.items():
        slope, shift = doubts.chances[regime]
        odds = np.clip(slope * scores + shift, -30.0, 30.0)
        chances = np.clip(1.0 / (1.0 + np.exp(-odds)), LEAST_CHANCE, CERTAIN)
        forecasts: list[Forecast | None] = [None] * len(own)
        for foreign in (False, True):
            at = np.flatnonzero(prepared.foreign == foreign)
            shape = doubts.spread[f"{regime}, foreign" if foreign else regime]
            for i, one in zip(at, told(means[at], (doubts.scale * wider)[at], shape, chances[at]), strict=True):
                forecasts[i] = one
        found[regime] = {
            (r["device"], r["id"]): forecast for r, forecast in zip(own, forecasts, strict=True) if forecast is not None
        }
    return found


def _left_out(
    rows: Rows,
    tier: Shown,
    seed: int,
    effort: Effort,
    say: Say,
    each: Each,
    regimes: Sequence[str] = REGIMES,
    parts: Path | None = None,
) -> dict[str, Told]:
    """For each regime, what models that were not shown a row say of it."""
    groups = {REGIMES[0]: rows.texts, REGIMES[1]: rows.tasks, REGIMES[2]: rows.families}
    found: dict[str, Told] = {}
    for regime in regimes:
        means, width, score = (np.full(len(rows.log2), np.nan) for _ in range(3))
        folds = list(folds_of(groups[regime], effort.folds, seed))
        files = [parts / f"{regime}-{number}.npz" for number in range(len(folds))] if parts else None
        work = partial(_held_out, rows, tier, seed, effort)
        found_out = _by_parts(work, folds, each, files) if files else each(work, folds)
        for number, (held, own) in enumerate(zip(folds, found_out, strict=True), start=1):
            means[held], width[held], score[held] = own
            say(f"  {regime}: part {number} of {len(folds)}")
        found[regime] = (means, width, score)
        off = np.abs(means - rows.log2)[rows.works]
        say(f"  {regime}: {np.median(off):.3f} off in the median, {np.sqrt(np.mean(off**2)):.3f} root mean square")
    return found


def _by_parts(work: Callable[[Mask], Told], folds: Sequence[Mask], each: Each, files: Sequence[Path]) -> Iterator[Told]:
    """What is said of each fold: read where it was kept, else worked out and kept."""
    missing = [at for at, file in enumerate(files) if not file.exists()]
    worked = iter(each(work, [folds[at] for at in missing]))
    for at, file in enumerate(files):
        if at in missing:
            own = next(worked)
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as unfinished, unfinished.open("wb") as out:
                np.savez(out, *own)
        with np.load(file) as kept:
            yield kept["arr_0"], kept["arr_1"], kept["arr_2"]


@dataclass(frozen=True)
class _Doubts:
    """How far off forecasts are: trees for the size of errors, what they say of each row, shapes, chances to fail."""

    error: Trees
    scale: FloatArray
    spread: dict[str, Any]
    chances: dict[str, tuple[float, float]]


def _with_doubts(rows: Rows, tier: Shown, by_regime: Mapping[str, Told], seed: int, effort: Effort) -> Tier:
    """A tier fitted to all rows, whose doubts are by what those say that were not shown a row."""
    everything = np.ones(len(rows.log2), dtype=bool)
    doubts = _doubts(rows, by_regime, seed, effort)
    trees = fit_speed(rows, rows.works, tier, seed, effort.speed) | {
        "error": doubts.error,
        "failure": _fit_failure(rows, everything, seed, effort.failure),
    }
    return replace(_bare(rows, trees, everything), spread=doubts.spread, chances=doubts.chances)


def _doubts(rows: Rows, by_regime: Mapping[str, Told], seed: int, effort: Effort) -> _Doubts:
    works = rows.works
    error = _fit_error(rows, by_regime[REGIMES[1]][0], seed, effort.error)
    scale = np.maximum(LEAST_SCALE_LOG2, np.exp(error.predict(rows.table)))
    spread = {}
    for regime, (means, wider, _) in by_regime.items():
        units = (rows.log2 - means) / (scale * wider)
        # A new operation (or family) is one draw, however many candidates it has: each counts the same.
        owners = rows.families if regime == REGIMES[2] else rows.tasks
        spread[regime] = spread_of(units[works], owners[works])
        foreign = works & rows.foreign
        enough = int(foreign.sum()) >= LEAST_FOREIGN
        own = spread_of(units[foreign], owners[foreign]) if enough else spread[regime]
        spread[f"{regime}, foreign"] = own
    chances = {regime: _logistic(scores, ~works) for regime, (_, _, scores) in by_regime.items()}
    return _Doubts(error, scale, spread, chances)


def _held_out(rows: Rows, tier: Shown, seed: int, effort: Effort, held: Mask) -> Told:
    """What a model of all other rows says of those held out: means, widenings, scores of failure."""
    without = _bare(rows, fit_speed(rows, rows.works & ~held, tier, seed, effort.speed), ~held)
    table = rows.table[held]
    failure = _fit_failure(rows, ~held, seed, effort.failure)
    return without.means(table, rows.headroom[held]), without.widening(table), failure.predict(table)


@contextmanager
def _workers(jobs: int) -> Iterator[Each]:
    """Do work for each of many: here, or in processes, which end with it; of one thread each either way."""
    with _one_thread():
        if jobs == 1:
            yield map
            return
        others = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _one_thread)
        try:
            yield pool.map
        except BaseException:  # Ctrl-C above all: nobody waits for minutes of work that nobody wants
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        pool.shutdown()


def _one_thread() -> AbstractContextManager[Any]:
    """From now on, or as long as the context lasts: threads that wait for each other are slow on busy cores."""
    import sklearn.ensemble  # noqa: F401 (its threads can be limited once they are there)
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _bare(rows: Rows, trees: Mapping[str, Trees], shown: Mask) -> Tier:
    """A tier that was shown some of the rows, without its doubts."""
    known = rows.shown(shown)
    low, high, typical = np.nanmin(known, axis=0), np.nanmax(known, axis=0), np.nanmedian(known, axis=0)
    return Tier(rows.names, low, high, typical, trees, {}, {})


def folds_of(groups: NDArray[Any], folds: int, seed: int) -> Iterator[Mask]:
    """Masks of what is held out, whole groups at a time."""
    distinct = np.unique(groups)
    np.random.default_rng(seed).shuffle(distinct)
    for start in range(folds):
        yield np.isin(groups, distinct[start::folds])


def fit_speed(rows: Rows, chosen: Mask, tier: Shown, seed: int, count: int) -> dict[str, Trees]:
    """Trees for the time over the floor and, where there was a dry run, over what that came to."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    settings: dict[str, Any] = _SPEED | {"max_iter": count, "max_features": 0.5, "loss": _LOSS[tier]}
    time = rows.headroom - rows.log2
    at = rows.repeated(chosen)  # and not weights: those make scikit-learn's own preparation many times slower
    first = HistGradientBoostingRegressor(random_state=seed, **settings)
    found = {"floor": of_boosting(first.fit(rows.shown(at), time[at]))}
    if ESTIMATE in rows.names:
        estimate = rows.table[:, rows.names.index(ESTIMATE)]
        ran = rows.repeated(chosen & np.isfinite(estimate))
        second = HistGradientBoostingRegressor(random_state=seed + 1, **settings)
        found["estimate"] = of_boosting(second.fit(rows.shown(ran), (time - estimate)[ran]))
    return found


def _fit_error(rows: Rows, means: FloatArray, seed: int, count: int) -> Trees:
    """Trees for the logarithm of the error of such means; those on new operations are between the two others."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    works = rows.works
    errors = np.log(np.maximum(SMALLEST_ERROR_LOG2, np.abs(means - rows.log2)))[works]
    model = HistGradientBoostingRegressor(
        max_iter=count, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=60, random_state=seed
    )
    return of_boosting(model.fit(rows.shown(works), errors))


def _fit_failure(rows: Rows, chosen: Mask, seed: int, count: int) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=count, learning_rate=0.06, max_leaf_nodes=31, min_samples_leaf=20, max_features=0.5, random_state=seed
    )
    return of_boosting(model.fit(rows.shown(chosen), ~rows.works[chosen]))


def spread_of(units: FloatArray, owners: NDArray[np.str_]) -> tuple[float, ...]:
    """Quantiles at `LEVELS`, wide enough that the middle 80 % of all others held 80 % of each owner in turn."""
    own = quantiles(units, owners)
    middle = own[LEVELS.index(0.5)]
    factor = widening(units, owners)
    return tuple(middle + factor * (q - middle) for q in own)


def quantiles(units: FloatArray, owners: NDArray[np.str_], levels: Sequence[float] = LEVELS) -> tuple[float, ...]:
    """Quantiles where every owner has the same weight, however many units it has."""
    _, owner, counts = np.unique(owners, return_inverse=True, return_counts=True)
    order = np.argsort(units)
    weights = (1.0 / counts)[owner][order]
    places = (np.cumsum(weights) - weights / 2.0) / weights.sum()
    return tuple(float(q) for q in np.interp(levels, places, units[order]))


def widening(units: FloatArray, owners: NDArray[np.str_]) -> float:
    """The factor at which what other owners say of an owner holds as often as it should, on average over owners."""
    needed = []
    for owner in np.unique(owners):
        its = owners == owner
        if its.all():
            return 1.0
        low, middle, high = quantiles(units[~its], owners[~its], (0.1, 0.5, 0.9))
        off = units[its] - middle
        needed.append(np.where(off < 0.0, off / (low - middle), off / (high - middle)))
    return max(
        1.0, quantiles(np.concatenate(needed), np.repeat(np.unique(owners), [len(n) for n in needed]), (0.8,))[0]
    )


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
