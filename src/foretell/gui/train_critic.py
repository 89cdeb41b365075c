"""Trains the learned critic on recorded proposals: `python -m foretell.gui.train_critic FOLDER --into MODEL.npz`.

Every proposal is shown twice, with what the agent said and without. Chances and thresholds are learnt from scores of
families of tasks that the trees had not seen: near twins of a task would make them look better than they are.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.gui.critic_model import SHIPPED, Chances, CriticModel, Scale, humbled, never_done
from foretell.gui.dataset import read_rows
from foretell.gui.described import Say, Shown, describe
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import SORTS
from foretell.gui.threshold import Threshold, threshold_for
from foretell.trees import FloatArray, Trees, of_boosting

BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1)
LEAST_OF_CLASS = 8
_Z95 = 1.645


@dataclass(frozen=True)
class Effort:
    """How many trees, how fast they learn, and in how many parts tasks are left out; less makes a model for tests.

    `variant_weight` is that of a variant, where a recorded row counts 1; with more than 0.4, MiniWoB++ tasks that were
    left out are judged less well.
    """

    trees: int = 400
    rate: float = 0.03
    members: int = 3
    error_trees: int = 100
    folds: int = 6
    variant_weight: float = 0.4


def train(shown: Shown, seed: int = 0, effort: Effort | None = None, say: Say = lambda text: None) -> CriticModel:
    """A model of these rows, which should hold training tasks only.

    Chances and thresholds are learnt from what was recorded; variants are to be known, not to be promised for.
    """
    effort = effort or Effort()
    return fitted(shown, left_out_scores(shown, seed, effort, say), seed, effort, say)


def fitted(
    shown: Shown,
    scores: FloatArray,
    seed: int = 0,
    effort: Effort | None = None,
    say: Say = lambda text: None,
    each: bool = False,
) -> CriticModel:
    """As `train`, where the scores of left-out tasks are known already.

    With `each`, bounds on false interruptions hold for each task by itself, as far as chance allows to say.
    """
    effort = effort or Effort()
    stated, unstated = (
        fit_scale(scores[own], shown.bad[own], shown.task[own], shown.sort[own], each)
        for own in (shown.stated & shown.as_recorded, ~shown.stated & shown.as_recorded)
    )
    say("fitting on all tasks")
    bad = _fit_bad(shown, seed, effort)
    unseen = never_done(shown.names, shown.table)
    about = {"rows": int(shown.as_recorded.sum()), "tasks": len(set(shown.task.tolist())), "seed": seed}
    return CriticModel(shown.names, bad, _fit_errors(shown, seed, effort), stated, unstated, about, unseen)


def fit_scale(
    scores: FloatArray,
    bad: NDArray[np.bool_],
    task: NDArray[Any],
    sort: NDArray[Any] | None = None,
    each: bool = False,
) -> Scale:
    """How scores of left-out tasks are read; the plain scale where there are no two outcomes to learn from.

    `sort` are the sorts of the proposals, where they are not all steps; `each` as in `fitted`.
    """
    if bad.all() or not bad.any():
        return Scale()
    chances = fit_chances(scores, bad)
    p_bad = chances.apply(scores)
    sorts = np.full(len(bad), "step") if sort is None else sort
    good, task, sorts = p_bad[~bad], task[~bad], sorts[~bad]
    learnt = tuple(_by_sort(good, sorts, task, bound) for bound in BOUNDS)
    return Scale(chances, tuple(_for_each(one, good, task) for one in learnt) if each else learnt)


def _for_each(learnt: Threshold, p_bad_of_good: FloatArray, task: NDArray[Any]) -> Threshold:
    """A threshold raised until no task's share of false interruptions is surely (95 %) above the bound."""
    needed = 0.0
    for name in set(task.tolist()):
        own = np.sort(p_bad_of_good[task == name])[::-1]
        most = max(k for k in range(len(own) + 1) if lower_bound(k, len(own)) <= learnt.bound)
        needed = max(needed, float(own[most]) if most < len(own) else 0.0)
    apart = {sort: max(value, needed) for sort, value in learnt.apart.items()}
    return replace(learnt, value=max(learnt.value, needed), apart=apart)


def lower_bound(count: int, total: int) -> float:
    """The lower 95 % bound of a share (Wilson, one-sided); 0 of nothing."""
    if not total:
        return 0.0
    share, spread = count / total, _Z95**2 / total
    middle = share + spread / 2
    return max(0.0, (middle - _Z95 * math.sqrt(share * (1 - share) / total + spread / (4 * total))) / (1 + spread))


def _by_sort(p_bad_of_good: FloatArray, sort: NDArray[Any], task: NDArray[Any], bound: float) -> Threshold:
    """The threshold for steps and those of the other sorts that were seen, each within the bound by itself.

    Endings of which too few are known for one of their own share that of steps; drags do not.
    """
    learnt = {one: threshold_for(p_bad_of_good[sort == one], bound, task[sort == one]) for one in SORTS}
    apart = {one: learnt[one].value for one in SORTS[1:] if (sort == one).any()}
    if math.isinf(apart.get("ending", 0.0)):
        del apart["ending"]
    return replace(learnt["step"], n_good=len(p_bad_of_good), apart=apart)


def family(task: str) -> str:
    """Tasks whose names begin alike ("click-tab-2-easy", "click-tab-2-hard") are variants of one."""
    return "-".join(task.split("-")[:2])


def left_out_scores(shown: Shown, seed: int, effort: Effort, say: Say = lambda text: None) -> FloatArray:
    """Scores of each row by trees that never saw its task, nor a variant of it.

    As many members as the model has are averaged: one alone is surer of itself, and its threshold would be too high.
    """
    of_row = np.array([family(task) for task in shown.task.tolist()])
    families = np.array(sorted(set(of_row.tolist())))
    np.random.default_rng(seed).shuffle(families)
    scores = np.full(len(shown.bad), np.nan)
    for number, part in enumerate(np.array_split(families, min(effort.folds, len(families)))):
        out = np.isin(of_row, part)
        rest, table = shown.where(~out), shown.table[out]
        trees = _fit_bad(rest, seed + number, effort)
        mean = np.mean([one.predict(table) for one in trees], axis=0)
        scores[out] = humbled(mean, shown.names, table, never_done(shown.names, rest.table))
        say(f"part {number + 1}: {int(out.sum())} rows of {len(part)} families left out")
    return scores


def fit_chances(scores: FloatArray, bad: NDArray[np.bool_]) -> Chances:
    """Beta calibration by logistic regression; falls back to Platt's two numbers where it would not rise."""
    from sklearn.linear_model import LogisticRegression

    logs = np.stack((-np.logaddexp(0.0, -scores), np.logaddexp(0.0, scores)), axis=1)
    fitted = LogisticRegression(C=10.0).fit(logs, bad)
    rise, fall = (float(c) for c in fitted.coef_[0])
    if rise >= 0.0 and fall >= 0.0:
        return Chances(rise, fall, float(fitted.intercept_[0]))
    fitted = LogisticRegression(C=10.0).fit(scores[:, None], bad)
    slope = max(1e-3, float(fitted.coef_[0, 0]))
    return Chances(slope, slope, float(fitted.intercept_[0]))


def _fit_bad(shown: Shown, seed: int, effort: Effort) -> tuple[Trees, ...]:
    return tuple(
        _boosted(
            shown.table, shown.bad, _weights(shown, effort.variant_weight), effort.trees, effort.rate, seed + 101 * i
        )
        for i in range(effort.members)
    )


def _fit_errors(shown: Shown, seed: int, effort: Effort) -> dict[ErrorClass, Trees]:
    wrong = shown.where(shown.bad)
    found = {}
    for kind in ErrorClass:
        own = wrong.error == kind.value
        if LEAST_OF_CLASS <= own.sum() < len(own):
            found[kind] = _boosted(wrong.table, own, None, effort.error_trees, effort.rate, seed)
    return found


def _weights(shown: Shown, variant_weight: float) -> FloatArray:
    """Each task counts by the root of its recorded rows, so that long ones do not drown the others."""
    _, at = np.unique(shown.task, return_inverse=True)
    count = np.bincount(at, shown.as_recorded)
    weights = np.where(shown.as_recorded, 1.0, variant_weight) / np.sqrt(np.maximum(1.0, count[at]))
    return np.asarray(weights / weights.mean())


def _constant(table: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which columns have at most one value that is a number."""
    low = np.where(np.isfinite(table), table, np.inf).min(axis=0, initial=np.inf)
    high = np.where(np.isfinite(table), table, -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray(low >= high)


def _boosted(
    table: FloatArray, target: NDArray[np.bool_], weights: FloatArray | None, trees: int, rate: float, seed: int
) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=rate,
        max_leaf_nodes=15,
        min_samples_leaf=15,
        l2_regularization=3.0,
        max_features=0.2,
        random_state=seed,
    )
    known = table.astype(np.float32)
    known[:, _constant(known)] = 0.0  # such columns can split nothing, and some versions of the trees fail on them
    return of_boosting(model.fit(known, target, sample_weight=weights))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="recorded proposals")
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "models" / SHIPPED)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="learn from the held-out tasks too")
    options = parser.parse_args(arguments)
    began_s = time.monotonic()
    rows = [row for row in read_rows(options.folder) if options.all or row.split == "train"]
    shown = describe(options.folder, rows, print, os.cpu_count() or 1, vary=True)
    train(shown, options.seed, say=print).save(options.into)
    print(f"{options.into} written after {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
