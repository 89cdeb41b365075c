"""Forecasts and outcomes to figures, each with an interval from drawing whole operations again, if there are several.

Figures over candidates (scores, calibration, detection of failures, selective risk) weigh every candidate alike;
figures of ranking are computed within each pool that has at least `FEWEST` successes and averaged over pools. A figure
is NaN where there was nothing to judge it on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.belief import (
    FAILURE,
    Estimate,
    all_classes,
    aurc,
    bootstrap_all,
    ece,
    excess_aurc,
    failure_brier,
    half_brier,
    kendall,
    log_loss,
    pairwise_accuracy,
    ranked_probability_score,
    recovery,
    reliability,
    spearman,
    top_label,
)
from foretell.kernels.evaluate.detection import auroc, average_precision
from foretell.kernels.evaluate.figures import COVERED, FIGURES, FRACTIONS, POOLED, key
from foretell.kernels.evaluate.judge import (
    APART_LOG2,
    LEVELS,
    NOISE_LOG2,
    Flags,
    Floats,
    Ints,
    Judged,
    Pairs,
    Rows,
    pairs_of,
    rows_of,
)
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.evaluate.result import Part, Result

FEWEST = 5  # successes that a pool needs before its ranking says anything
RESAMPLES = 400
CURVE_FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)

Statistic = Callable[[Ints], float]


def assess(judged: Judged, forecaster: str, split: str, seed: int = 0, resamples: int = RESAMPLES) -> Result:
    """All figures of one forecaster on one split; ValueError where nothing was judged."""
    rows, pairs = rows_of(judged, COVERED), pairs_of(judged, seed)
    by_pool = pool_figures(judged, rows)
    found = _estimates(row_statistics(rows), rows, by_pool, seed, resamples)
    found |= _bootstrap(pair_statistics(pairs), pairs.group, seed, resamples)
    # Troubles that the forecaster counted without saying whose they were are taken off as a share.
    share = max(0, sum(judged.troubles.values()) - int(rows.troubled.sum())) / len(rows)
    for name in ("accuracy_at_least", "outcome_accuracy_at_least"):
        found[name] = _less(found.get(name, _nothing()), share)
    return Result(
        forecaster=forecaster,
        split=split,
        candidates=len(rows),
        failures=int(rows.failed.sum()),
        pools=len(judged.pools),
        ranked_pools=sum(p["successes"] >= FEWEST for p in by_pool),
        operations=len({pool.group for pool in judged.pools}),
        seconds=judged.seconds,
        troubles=dict(judged.troubles),
        figures={name: found.get(name, _nothing()) for name in FIGURES},
        curves=curves(judged, rows),
        by_pool=by_pool,
        by_device=_parts(judged, lambda pool: pool.device.name, seed, resamples),
        by_origin=_parts(judged, lambda pool: pool.origin, seed, resamples),
    )


def _estimates(
    statistics: dict[str, Statistic], rows: Rows, by_pool: list[dict[str, Any]], seed: int, resamples: int
) -> dict[str, Estimate]:
    """Statistics of rows, and means over pools of their figures; operations are drawn whole."""
    found = _bootstrap(statistics, rows.group, seed, resamples)
    columns = {name: mean_of(np.array([p[name] for p in by_pool])) for name in by_pool[0] if name in FIGURES}
    return found | _bootstrap(columns, np.array([p["operation"] for p in by_pool]), seed, resamples)


def _parts(judged: Judged, key: Callable[[Pool], str], seed: int, resamples: int) -> dict[str, Part]:
    """The figures `POOLED` of the pools of each key; nothing if all have the same."""
    names = sorted({key(pool) for pool in judged.pools})
    if len(names) < 2:
        return {}
    return {name: _part(judged.where(partial(_has, key, name)), seed, resamples) for name in names}


def _has(key: Callable[[Pool], str], name: str, pool: Pool) -> bool:
    return key(pool) == name


def _part(judged: Judged, seed: int, resamples: int) -> Part:
    rows = rows_of(judged, COVERED)
    statistics = {name: statistic for name, statistic in row_statistics(rows).items() if name in POOLED}
    found = _estimates(statistics, rows, pool_figures(judged, rows), seed, resamples)
    shown = {name: found.get(name, _nothing()) for name in POOLED}
    return Part(len(rows), int(rows.failed.sum()), len(judged.pools), shown)


def row_statistics(rows: Rows) -> dict[str, Statistic]:
    """Figures over candidates, as functions of which rows count (and how often)."""
    known = np.flatnonzero(rows.outcome >= 0)
    worked = np.flatnonzero((rows.outcome >= 0) & (rows.outcome != FAILURE))
    found: dict[str, Statistic] = {}

    def column(name: str, values: Floats | Flags, of: Ints) -> None:
        spread = np.full(len(rows), math.nan)
        spread[of] = values
        found[name] = mean_of(spread)

    def over(name: str, statistic: Callable[..., float], of: Ints, *columns: Floats) -> None:
        """A statistic of columns that are given for the rows `of` alone."""
        place = np.full(len(rows), -1, dtype=np.int64)
        place[of] = np.arange(of.size)

        def compute(drawn: Ints) -> float:
            at = place[drawn]
            at = at[at >= 0]
            return statistic(*(c[at] for c in columns)) if at.size else math.nan

        found[name] = compute

    error = np.abs(rows.median - rows.log2)[worked]
    if worked.size:
        bins, hit = rows.bins[worked], rows.outcome[worked]
        away = np.abs(bins.argmax(axis=1) - hit)
        for name, values in (
            ("accuracy", away == 0), ("accuracy_at_least", (away == 0) & ~rows.troubled[worked]),
            ("within_one", away <= 1), ("half_brier", half_brier(bins, hit)),
            ("rps", ranked_probability_score(bins, hit)), ("log_loss", log_loss(bins, hit)),
        ):  # fmt: skip
            column(name, values, worked)
        over("ece_bins", ece, worked, *top_label(bins, hit))
        over("classwise_ece_bins", _classwise, worked, *_by_class(bins, hit))
    column("crps", rows.crps[worked], worked)
    column("error_log2", error, worked)
    for level in COVERED:
        tail = (1.0 - level) / 2.0
        column(key("covered", level), np.abs(rows.pit[worked] - 0.5) <= 0.5 - tail, worked)
        column(key("width", level), rows.widths[level][worked], worked)
    over("aurc_log2", aurc, worked, -rows.widths[0.8][worked], error)
    over("excess_aurc_log2", excess_aurc, worked, -rows.widths[0.8][worked], error)
    if known.size:
        probs, came = rows.probs[known], rows.outcome[known]
        stated, right = top_label(probs, came)
        column("outcome_accuracy", right, known)
        column("outcome_accuracy_at_least", np.where(rows.troubled[known], 0.0, right), known)
        column("outcome_half_brier", half_brier(probs, came), known)
        column("outcome_log_loss", log_loss(probs, came), known)
        over("ece_outcomes", ece, known, stated, right)
        over("classwise_ece_outcomes", _classwise, known, *_by_class(probs, came))
        over("aurc", aurc, known, stated, 1.0 - right)
        over("excess_aurc", excess_aurc, known, stated, 1.0 - right)
    every, built = np.arange(len(rows)), np.flatnonzero(rows.builds)
    failed = rows.failed.astype(np.float64)
    column("failure_brier", failure_brier(rows.p_fail, failed), every)
    over("ece_failure", ece, every, rows.p_fail, failed)
    over("failure_auroc", auroc, every, rows.p_fail, failed)
    over("failure_auroc_built", auroc, built, rows.p_fail[built], failed[built])
    return found


def pair_statistics(pairs: Pairs) -> dict[str, Statistic]:
    """Figures over pairs of candidates, as functions of which pairs count."""
    return {
        "discovery": lambda drawn: average_precision(pairs.chance[drawn], pairs.faster[drawn]),
        "discovery_share": lambda drawn: float(pairs.faster[drawn].mean()),
    }


def pool_figures(judged: Judged, rows: Rows) -> list[dict[str, Any]]:
    """The figures of ranking of each pool; NaN where it has too few successes, or (AUROC) only one kind of outcome."""
    found = []
    for pool, at in zip(judged.pools, _spans(judged), strict=True):
        truth = rows.rank_log2[at]
        good = truth > -math.inf
        figures = dict.fromkeys(("spearman", "kendall", "pairwise", "pairwise_any"), math.nan)
        figures |= dict.fromkeys(("pairs_10", "first_pick", "spearman_any"), math.nan)
        figures |= {key("recovery", fraction): math.nan for fraction in FRACTIONS}
        guess, score = rows.mean[at][good], rows.score[at]
        if good.sum() >= 2:
            figures["pairwise_any"] = pairwise_accuracy(guess, truth[good], NOISE_LOG2)
            figures["pairs_10"] = pairwise_accuracy(guess, truth[good], APART_LOG2)
            figures["first_pick"] = float(np.exp2(truth[good][guess == guess.max()].min() - truth[good].max()))
        if good.sum() >= 3 and np.ptp(truth[good]) > APART_LOG2:
            figures["spearman_any"] = _or_zero(spearman, guess, truth[good])
        if good.sum() >= FEWEST:
            figures["spearman"] = _or_zero(spearman, guess, truth[good])
            figures["kendall"] = _or_zero(kendall, guess, truth[good])
            figures["pairwise"] = figures["pairwise_any"]
            for fraction in FRACTIONS:
                figures[key("recovery", fraction)] = recovery(score, truth, fraction)
        figures |= _pool_means(rows, at)
        figures["failure_auroc_within"] = auroc(rows.p_fail[at], rows.failed[at])
        head = {"pool": pool.name, "operation": pool.group, "device": pool.device.name}
        found.append({**head, "candidates": len(pool), "successes": int(good.sum()), **figures})
    return found


def _pool_means(rows: Rows, at: slice) -> dict[str, float]:
    """Scores of one pool's speedups; NaN if none is known."""
    known = np.flatnonzero(~np.isnan(rows.pit[at])) + at.start
    if not known.size:
        return dict.fromkeys(("accuracy_pools", "covered_80_pools", "width_80_pools"), math.nan)
    return {
        "accuracy_pools": float(np.mean(rows.bins[known].argmax(axis=1) == rows.outcome[known])),
        "covered_80_pools": float(np.mean(np.abs(rows.pit[known] - 0.5) <= 0.4)),
        "width_80_pools": float(np.mean(rows.widths[0.8][known])),
    }


def curves(judged: Judged, rows: Rows) -> dict[str, Any]:
    """What is drawn: reliability tables, the share that intervals of each level held, recovery by share measured."""
    known = np.flatnonzero(rows.outcome >= 0)
    pit = rows.pit[~np.isnan(rows.pit)]
    found: dict[str, Any] = {
        "failure_reliability": _table(rows.p_fail, rows.failed.astype(np.float64)),
        "outcome_reliability": [],
        "coverage": [],
        "recovery": [],
    }
    if known.size:
        found["outcome_reliability"] = _table(*top_label(rows.probs[known], rows.outcome[known]))
    if pit.size:
        held = [(level, float((np.abs(pit - 0.5) <= level / 2.0).mean())) for level in LEVELS]
        found["coverage"] = [{"promised": level, "held": share} for level, share in held]
    spans = [at for at in _spans(judged) if (rows.rank_log2[at] > -math.inf).sum() >= FEWEST]
    if spans:
        for fraction in CURVE_FRACTIONS:
            each = [recovery(rows.score[at], rows.rank_log2[at], fraction) for at in spans]
            found["recovery"].append({"measured": fraction, "recovered": float(np.mean(each))})
    return found


def _spans(judged: Judged) -> list[slice]:
    """Where each pool's rows are."""
    ends = np.cumsum([len(pool) for pool in judged.pools]).tolist()
    return [slice(end - len(pool), end) for pool, end in zip(judged.pools, ends, strict=True)]


def _bootstrap(
    statistics: dict[str, Statistic], groups: NDArray[np.str_], seed: int, resamples: int
) -> dict[str, Estimate]:
    if not groups.size:
        return {name: _nothing() for name in statistics}
    found = bootstrap_all(statistics, np.arange(groups.size), groups=groups, replicates=resamples, seed=seed)
    # A single operation drawn again is the same one: nothing shows how far a figure might move.
    return {name: e if e.n > 1 else replace(e, low=math.nan, high=math.nan) for name, e in found.items()}


def mean_of(column: Floats) -> Statistic:
    def mean(drawn: Ints) -> float:
        values = column[drawn]
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else math.nan

    return mean


def _classwise(*columns: Floats) -> float:
    """Class-wise ECE of columns that alternate: the probability of a class, whether it came true, the next class..."""
    return float(np.mean([ece(columns[i], columns[i + 1]) for i in range(0, len(columns), 2)]))


def _by_class(probs: Floats, outcome: Ints) -> list[Floats]:
    k = probs.shape[1]
    stated, true = (column.reshape(-1, k) for column in all_classes(probs, outcome))
    return [np.ascontiguousarray(column[:, i]) for i in range(k) for column in (stated, true)]


def _table(stated: Floats, came: Floats) -> list[dict[str, float]]:
    table = reliability(stated, came)
    rows = zip(table.count, table.confidence, table.accuracy, strict=True)
    return [{"count": n, "stated": stated, "came": came} for n, stated, came in rows if n]


def _or_zero(statistic: Callable[..., float], guess: Floats, truth: Floats) -> float:
    """A ranking that is constant has no skill: 0. A truth that is constant ranks nothing: NaN."""
    if np.ptp(truth) == 0.0:
        return math.nan
    return 0.0 if np.ptp(guess) == 0.0 else statistic(guess, truth)


def _less(estimate: Estimate, share: float) -> Estimate:
    low, value, high = (
        x - share if math.isnan(x) else max(0.0, x - share) for x in (estimate.low, estimate.value, estimate.high)
    )
    return Estimate(value, low, high, estimate.level, estimate.n)


def _nothing() -> Estimate:
    return Estimate(math.nan, math.nan, math.nan, 0.95, 0)
