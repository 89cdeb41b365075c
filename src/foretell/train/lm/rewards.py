"""Rewards for a stated distribution over ordered choices, against what measuring says. Pure.

All lie between -1 and 1. An answer that cannot be read is worth nothing that an answer could be worth: `UNREADABLE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

UNREADABLE = -1.0  # or less, where weights make a readable answer worth less

Reward = Callable[[Sequence[float], Sequence[float]], float]


def correctness(stated: Sequence[float], target: Sequence[float]) -> float:
    """The chance that the choice with the highest stated probability is right."""
    return float(target[int(np.argmax(stated))])


def brier(stated: Sequence[float], target: Sequence[float]) -> float:
    """Minus half the squared distance of the two distributions: 0 at best, -1 at worst. Knows no order of choices."""
    return float(-0.5 * np.sum((np.asarray(stated) - np.asarray(target)) ** 2))


def crps(stated: Sequence[float], target: Sequence[float]) -> float:
    """Minus the squared distance of the cumulative distributions, over the number of steps: 0 at best, -1 at worst.

    A near miss costs less than a far one.
    """
    steps = np.cumsum(np.asarray(stated) - np.asarray(target))[:-1]
    return float(-np.mean(steps**2))


PARTS: Mapping[str, Reward] = {"correctness": correctness, "brier": brier, "crps": crps}
LEAST: Mapping[str, float] = {"correctness": 0.0, "brier": -1.0, "crps": -1.0}
NAMED: Mapping[str, Mapping[str, float]] = {
    "correctness": {"correctness": 1.0},
    "correctness+brier": {"correctness": 0.5, "brier": 0.5},
    "correctness+crps": {"correctness": 0.5, "crps": 0.5},
    "crps": {"crps": 1.0},
}


def make(name: str, weights: Mapping[str, float] | None = None) -> Reward:
    """The reward of a name such as `correctness+crps`, its parts weighed; ValueError where there is none.

    Weights are used as they are given: they need not sum to one, and each part must have one.
    """
    given = _weights(name, weights)

    def weighed(stated: Sequence[float], target: Sequence[float]) -> float:
        return sum(weight * PARTS[part](stated, target) for part, weight in given.items())

    return weighed


def unreadable(name: str, weights: Mapping[str, float] | None = None) -> float:
    """What an answer that cannot be read is worth: no more than the worst that can."""
    return min(UNREADABLE, sum(weight * LEAST[part] for part, weight in _weights(name, weights).items()))


def _weights(name: str, weights: Mapping[str, float] | None) -> dict[str, float]:
    parts = name.split("+")
    if unknown := [part for part in parts if part not in PARTS]:
        raise ValueError(f"there is no reward {unknown[0]!r}; parts are {', '.join(PARTS)}, joined by +")
    given = dict(NAMED.get(name, {part: 1.0 / len(parts) for part in parts}) if weights is None else weights)
    if set(given) != set(parts):
        raise ValueError(f"the reward {name} has the parts {', '.join(parts)}; weights are for {', '.join(given)}")
    if odd := [part for part, weight in given.items() if not (math.isfinite(weight) and weight >= 0.0)]:
        raise ValueError(f"the weight of {odd[0]} is {given[odd[0]]:g}: weights are numbers from 0 on")
    return given
