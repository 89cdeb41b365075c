"""When to interrupt: the threshold on P(bad) under which false interruptions stay below a chosen bound.

Conformal risk control (Angelopoulos et al. 2022) with the loss "a good proposal was interrupted": among n good
proposals that the critic was not fitted to, take the smallest threshold t for which (number above t + 1) / (n + 1) is
at most the bound. If the next good proposal is exchangeable with those, it is interrupted with at most that chance.
Proposals of one task are alike, so that n of them are worth fewer: as many as n divided by the design effect, which is
how much more the tasks differ in their false interruptions than chance would have them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foretell.belief import conformal_quantile
from foretell.gui.observation import Sort

DEFAULT_BOUND = 0.02


@dataclass(frozen=True)
class Threshold:
    """Interrupt where P(bad) is above `value`; infinite where too few good proposals are known for the bound.

    `bound` is the rate of false interruptions that it promises, learnt from `n_good` good proposals. `apart` are the
    thresholds of sorts of proposals that have their own: what ends the task is judged by other signs than steps are,
    and of drags so few are known that their errors would decide for all others. The bound is kept for each sort.
    `silent` is the threshold for proposals without an intent, where those have their own; `models` are the thresholds
    of a critic's other models, by the name that their judgements bear.
    """

    value: float
    bound: float
    n_good: int
    apart: Mapping[Sort, float] = field(default_factory=dict)
    silent: Threshold | None = None
    models: Mapping[str, Threshold] = field(default_factory=dict)

    def of(self, sort: Sort, stated: bool = True, model: str = "") -> float:
        """What P(bad) has to clear, for a proposal of this sort, with or without an intent, as a model judged it."""
        if model in self.models:
            return self.models[model].of(sort, stated)
        if not stated and self.silent is not None:
            return self.silent.of(sort)
        return self.apart.get(sort, self.value)

    def cleared_by(self, p_bad: float, sort: Sort = "step", stated: bool = True, model: str = "") -> bool:
        """Whether a judgement is enough to interrupt. No number (NaN) never is."""
        return p_bad > self.of(sort, stated, model)

    def to_dict(self) -> dict[str, Any]:
        """The threshold as JSON, without those of silent proposals and other models; an infinite value is null."""
        apart = {sort: _finite(value) for sort, value in self.apart.items()}
        return {"value": _finite(self.value), "bound": self.bound, "n_good": self.n_good, "apart": apart}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Threshold:
        value, *apart = (math.inf if v is None else float(v) for v in (data["value"], *data["apart"].values()))
        sorts = dict(zip(data["apart"], apart, strict=True))
        return Threshold(value, float(data["bound"]), int(data["n_good"]), sorts)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def threshold_for(p_bad_of_good: ArrayLike, bound: float = DEFAULT_BOUND, tasks: ArrayLike | None = None) -> Threshold:
    """Learn the threshold from the P(bad) that the critic gave to proposals known to be good.

    `tasks` says of which task each is; without it they count as independent of each other. ValueError where the bound
    is none, a score is no number, or there is not one task for each score. 1 / bound - 1 proposals are the fewest that
    allow any interruption at all.
    """
    if not 0.0 < bound < 1.0:
        raise ValueError(f"the bound on false interruptions must lie strictly between 0 and 1, got {bound!r}")
    scores = np.asarray(p_bad_of_good, dtype=np.float64).ravel()
    if not scores.size:
        return Threshold(math.inf, bound, 0)
    if np.isnan(scores).any():
        raise ValueError("a judgement of a good proposal has no P(bad): leave out what could not be judged")
    if tasks is None:
        return Threshold(conformal_quantile(scores, 1.0 - bound), bound, int(scores.size))
    of_task = np.asarray(tasks).ravel()
    if of_task.size != scores.size:
        raise ValueError(f"{scores.size} judgements of good proposals, but {of_task.size} tasks: name one for each")
    return Threshold(_by_task(scores, of_task, bound), bound, int(scores.size))


def _by_task(scores: NDArray[np.float64], tasks: NDArray[Any], bound: float) -> float:
    """The smallest threshold that keeps the bound, and above which each one does."""
    order, n = np.argsort(-scores), len(scores)
    _, task, count = np.unique(tasks[order], return_inverse=True, return_counts=True)
    above, found = np.zeros(len(count)), math.inf
    for number, i in enumerate(order):
        rate = number / n
        spread = ((above - rate * count) ** 2).sum() / (n * rate * (1.0 - rate)) if number else 1.0
        worth = n / max(1.0, float(spread))
        if (rate * worth + 1.0) / (worth + 1.0) > bound:
            break
        found = float(scores[i])
        above[task[number]] += 1.0
    return found
