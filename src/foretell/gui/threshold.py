"""When to interrupt: the threshold on P(bad) under which false interruptions stay below a chosen bound.

Conformal risk control (Angelopoulos et al. 2022) with the loss "a good proposal was interrupted": among n good
proposals that the critic was not fitted to, take the smallest threshold t for which (number above t + 1) / (n + 1) is
at most the bound. If the next good proposal is exchangeable with those, it is interrupted with at most that chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief import conformal_quantile

DEFAULT_BOUND = 0.02


@dataclass(frozen=True)
class Threshold:
    """Interrupt where P(bad) is above `value`; infinite where too few good proposals are known for the bound.

    `bound` is the rate of false interruptions that it promises, learnt from `n_good` good proposals. `ending` is the
    threshold for proposals that end the task, where one was learnt: they are judged by other signs than steps are, and
    the bound is kept for either kind by itself.
    """

    value: float
    bound: float
    n_good: int
    ending: float | None = None

    def of(self, ends: bool) -> float:
        """What P(bad) has to clear, for a proposal that ends the task or for one that does not."""
        return self.value if self.ending is None or not ends else self.ending

    def cleared_by(self, p_bad: float, ends: bool = False) -> bool:
        """Whether a judgement is enough to interrupt. No number (NaN) never is."""
        return p_bad > self.of(ends)

    def to_dict(self) -> dict[str, Any]:
        """The threshold as JSON; an infinite value is null."""
        return {**asdict(self), "value": self.value if math.isfinite(self.value) else None}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Threshold:
        value = math.inf if data["value"] is None else float(data["value"])
        ending = data.get("ending")
        return Threshold(value, float(data["bound"]), int(data["n_good"]), None if ending is None else float(ending))


def threshold_for(p_bad_of_good: ArrayLike, bound: float = DEFAULT_BOUND) -> Threshold:
    """Learn the threshold from the P(bad) that the critic gave to proposals known to be good.

    ValueError where the bound is none or a score is no number. 1 / bound - 1 proposals are the fewest that allow any
    interruption at all.
    """
    if not 0.0 < bound < 1.0:
        raise ValueError(f"the bound on false interruptions must lie strictly between 0 and 1, got {bound!r}")
    scores = np.asarray(p_bad_of_good, dtype=np.float64).ravel()
    if not scores.size:
        return Threshold(math.inf, bound, 0)
    if np.isnan(scores).any():
        raise ValueError("a judgement of a good proposal has no P(bad): leave out what could not be judged")
    return Threshold(conformal_quantile(scores, 1.0 - bound), bound, int(scores.size))
