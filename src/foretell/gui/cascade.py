"""A cascade of two critics: the second, which costs more, is asked only if the first is in doubt.

Where doubt begins and ends, and from which P(bad) on to interrupt, is learnt from recorded proposals (`learn`) and kept
as data: `Bounds.load()` are those that ship, learnt with the shipped critic and a frontier vision-language model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretell.gui.history import History
from foretell.gui.judgement import Critic, Judgement
from foretell.gui.observation import Observation, Proposal
from foretell.gui.threshold import DEFAULT_BOUND, threshold_for
from foretell.gui.vision import CriticUnavailable, Totals
from foretell.received import parsed, read_json

SHIPPED = "cascade.json"
MOST_ASKED = 0.36  # share of recorded proposals that the second critic may be asked about; on others it is more


@dataclass(frozen=True)
class Bounds:
    """Where the second critic is asked (P(bad) of the first from `low` to `high`), and when a guard interrupts.

    Attributes:
        threshold: A guard interrupts above it, whichever of the two critics judged. Never below `low`.
        bound: The share of right proposals that may be interrupted.
        asked: Share of the recorded proposals about which the second was asked.
        right: Right proposals with an answer of the second that the threshold was learnt from.
    """

    low: float
    high: float
    threshold: float
    bound: float
    asked: float
    right: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Bounds:
        """The bounds that `to_dict` wrote. Raises ValueError if a field is missing or not a number."""
        try:
            low, high, threshold, bound, asked = (
                float(data[name]) for name in ("low", "high", "threshold", "bound", "asked")
            )
            return Bounds(low, high, threshold, bound, asked, int(data["right"]))
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(f"not valid bounds of a cascade: {error}") from error

    @staticmethod
    def load(path: Path | None = None) -> Bounds:
        """Bounds from a file; without a path, those that ship."""
        if path is not None:
            return Bounds.from_dict(read_json(path.resolve()))
        source = resources.files("foretell.gui") / "models" / SHIPPED
        return Bounds.from_dict(parsed(source.read_bytes()))


def learn(
    first: ArrayLike,
    second: ArrayLike,
    bad: ArrayLike,
    groups: ArrayLike,
    bound: float = DEFAULT_BOUND,
    most_asked: float = MOST_ASKED,
) -> Bounds:
    """Learn the bounds from recorded proposals.

    The threshold keeps the bound on the second's judgements of right proposals. What the first interrupts alone may
    take up half of the bound; below that the second is asked, down to where it would be asked too often.

    Args:
        first: P(bad) by the first critic, which was not fitted to these proposals.
        second: The same by the second critic; NaN where it was not asked.
        bad: Whether each proposal is wrong.
        groups: Group of each proposal, such as its application; proposals of a group are not independent.
        bound: Share of right proposals that may be interrupted.
        most_asked: Share of proposals about which the second may be asked.

    Raises:
        ValueError: If the second judged too few right proposals for the bound.
    """
    p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    right, group = ~np.asarray(bad, dtype=bool), np.asarray(groups)
    judged = right & ~np.isnan(q)
    threshold = threshold_for(q[judged], bound).value
    if not np.isfinite(threshold):
        raise ValueError(f"{int(judged.sum())} right proposals are too few for a bound of {bound:g} on interruptions")
    alone = threshold_for(p[right], bound / 2, group[right]).value
    high = float(min(1.0, max(alone, threshold)))
    below = np.sort(p[p <= high])[::-1]
    count = min(len(below), int(most_asked * len(p)))
    low = float(below[count - 1]) if count else high
    low = min(low, threshold) if count == len(below) else low
    threshold = max(threshold, low)
    asked = float(((p >= low) & (p <= high)).mean())
    return Bounds(low, high, float(threshold), bound, asked, int(judged.sum()))


class CascadeCritic:
    """The first critic's judgement, and the second's where the first's `p_bad` lies from `low` to `high`.

    Above `high` the second is asked as well where the first gives no reason that could be checked.
    If the second is unavailable the first's stands, with `second_unavailable` among its evidence. `asked_second`
    counts how often the second was needed.
    """

    def __init__(self, first: Critic, second: Critic, low: float, high: float) -> None:
        if not 0.0 <= low <= high <= 1.0:
            raise ValueError(
                f"expected 0 <= low <= high <= 1 for the P(bad) that asks the second critic, got {low}, {high}"
            )
        self.name = f"cascade:{first.name}>{second.name}"
        self.asked_second = 0
        self._first, self._second, self._low, self._high = first, second, low, high

    @property
    def totals(self) -> Totals:
        """Tokens, money and seconds of both, as far as they count them."""
        parts = [
            part for critic in (self._first, self._second) if (part := getattr(critic, "totals", None)) is not None
        ]
        fields = ("prompt_tokens", "answer_tokens", "money", "seconds")
        return Totals(**{name: sum(getattr(part, name, 0) for part in parts) for name in fields})

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        ours = self._first.judge(observation, proposal, history)
        if not self._low <= ours.p_bad <= self._high and not (ours.advice and ours.p_bad > self._high):
            return ours
        self.asked_second += 1
        try:
            theirs = self._second.judge(observation, proposal, history)
        except CriticUnavailable:
            return replace(ours, evidence={**ours.evidence, "second_unavailable": 1.0})
        evidence = {**ours.evidence, **theirs.evidence, "first_p_bad": ours.p_bad}
        return replace(theirs, evidence=evidence, images={**ours.images, **theirs.images})
