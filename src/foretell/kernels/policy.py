"""Policies: measure, trust or drop. Pure functions of what is believed, what is at stake and what is left to spend.

`all` measures everything; `random` and `top` measure a fixed number of each batch and drop the rest (the baselines);
`selective` lets the forecast's own doubt decide. All but `all` measure a small random share of what they would not
have measured, the audit, so that calibration can be checked on candidates the policy did not pick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import numpy as np

from foretell.belief import Forecast
from foretell.kernels.profiles import Profile, SelectiveSettings


class Action(StrEnum):
    """What to do with a candidate: pay for a measurement, take the forecast as its value, or leave it."""

    MEASURE = "measure"
    TRUST = "trust"
    DROP = "drop"


@dataclass(frozen=True)
class Choice:
    """What to do with one candidate and why.

    `audit` marks a trusted or dropped candidate that is measured all the same. Candidates to be measured go in order of
    falling `priority`, which matters when the budget runs out among them.
    """

    action: Action
    reason: str
    audit: bool = False
    priority: float = 0.0

    @property
    def to_measure(self) -> bool:
        return self.audit or self.action is Action.MEASURE


@dataclass(frozen=True)
class View:
    """All that a policy may know: one batch of forecasts, and where the run stands.

    `incumbent` is the best measured speedup so far (1.0 before there is one), `learnt` the number of measurements the
    forecaster has learnt from, `pending` the number already decided on but not yet made, `mean_cost_s` the mean device
    seconds of a measurement (None before the first).
    """

    forecasts: tuple[Forecast, ...]
    incumbent: float
    learnt: int
    pending: int
    mean_cost_s: float | None
    remaining_measurements: int
    remaining_s: float
    round: int

    @property
    def affordable(self) -> int:
        """How many measurements the budgets still allow; at least one while both last."""
        count = max(0, self.remaining_measurements - self.pending)
        if self.remaining_s <= 0:
            return 0
        if self.mean_cost_s:
            count = min(count, max(1, int(self.remaining_s / self.mean_cost_s) - self.pending))
        return count


class Policy(Protocol):
    """Decides what is measured. `name` goes into the run."""

    name: str

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        """One choice for each forecast, in order, with at most `view.affordable` of them to be measured.

        Pure: depends on nothing but the view, the generator's state and the policy's own settings.
        """
        ...


class AllPolicy:
    """Measure everything the budget allows."""

    name = "all"

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        count = len(view.forecasts)
        measured = Choice(Action.MEASURE, "every candidate is measured")
        return [measured if i < view.affordable else _unaffordable(view) for i in range(count)]


class RandomPolicy:
    """Measure a fixed number of each batch, drawn at random."""

    name = "random"

    def __init__(self, profile: Profile) -> None:
        self._per_batch = profile.measure_per_batch
        self._audit_share = profile.audit_share

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        count = len(view.forecasts)
        take = min(self._per_batch, count, view.affordable)
        drawn = set(rng.permutation(count)[:take].tolist())
        yes = Choice(Action.MEASURE, f"drawn at random, {take} of {count}")
        no = Choice(Action.DROP, f"not among the {take} of {count} drawn at random")
        return audited([yes if i in drawn else no for i in range(count)], self._audit_share, view, rng)


class TopPolicy:
    """Measure a fixed number of each batch, those with the highest forecast speedup (a failure counting as zero)."""

    name = "top"

    def __init__(self, profile: Profile) -> None:
        self._per_batch = profile.measure_per_batch
        self._audit_share = profile.audit_share

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        count = len(view.forecasts)
        worth = [(1.0 - f.p_fail) * 2.0**f.median for f in view.forecasts]
        tie_break = rng.permutation(count)
        ranked = sorted(range(count), key=lambda i: (-worth[i], tie_break[i]))
        take = min(self._per_batch, count, view.affordable)
        choices: list[Choice] = [_unaffordable(view)] * count
        for rank, i in enumerate(ranked, start=1):
            what = f"expected speedup {worth[i]:.2f}x is number {rank} of {count}, {take} are measured"
            choices[i] = Choice(Action.MEASURE if rank <= take else Action.DROP, what, priority=worth[i])
        return audited(choices, self._audit_share, view, rng)


class SelectivePolicy:
    """Measure where the forecast leaves a real chance of a better kernel; see `SelectiveSettings` for the rule.

    What is measured goes in order of expected improvement, up to a maximum per batch and no fixed number: a batch with
    nothing promising in it costs nothing.
    """

    name = "selective"

    def __init__(self, profile: Profile) -> None:
        self._settings: SelectiveSettings = profile.selective
        self._max_per_batch = profile.max_measure_per_batch
        self._audit_share = profile.audit_share

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        if view.learnt < self._settings.explore_until:
            return self._explore(view, rng)
        goal = view.incumbent * (1.0 + self._settings.min_gain)
        chances = [f.prob_above(goal) for f in view.forecasts]
        gains = [f.expected_improvement(view.incumbent) for f in view.forecasts]
        worth = [i for i, chance in enumerate(chances) if chance >= self._settings.epsilon]
        tie_break = rng.permutation(len(chances))
        worth.sort(key=lambda i: (-gains[i], tie_break[i]))
        take = min(self._max_per_batch, view.affordable)
        chosen = set(worth[:take])
        choices = []
        for i, forecast in enumerate(view.forecasts):
            chance = f"{chances[i]:.1%} chance of more than {goal:.2f}x"
            if i in chosen:
                why = f"{chance}, expected gain {gains[i]:.3f} in log2"
                choices.append(Choice(Action.MEASURE, why, priority=gains[i]))
            elif chances[i] >= self._settings.epsilon:
                choices.append(
                    self._without_measuring(forecast, f"{chance}, but {take} others in this batch promise more")
                )
            else:
                choices.append(self._without_measuring(forecast, f"only {chance}"))
        return audited(choices, self._audit_share, view, rng)

    def _without_measuring(self, forecast: Forecast, why: str) -> Choice:
        settings = self._settings
        low, high = forecast.interval(settings.interval_level)
        if forecast.p_fail > settings.max_p_fail:
            return Choice(Action.DROP, f"{why}; {forecast.p_fail:.0%} likely to fail")
        doubt = f"{settings.interval_level:.0%} interval {2.0**low:.2f}x to {2.0**high:.2f}x"
        if high - low <= settings.trust_width_log2:
            return Choice(Action.TRUST, f"{why}; {doubt} is narrow enough to take {2.0**forecast.median:.2f}x")
        return Choice(Action.DROP, f"{why}; {doubt} is too wide to take as a value")

    def _explore(self, view: View, rng: np.random.Generator) -> list[Choice]:
        """Measure a spread of the batch: evenly spaced ranks of the forecast median, ties in random order."""
        count = len(view.forecasts)
        take = min(self._settings.explore_per_batch, count, view.affordable)
        tie_break = rng.permutation(count)
        ranked = sorted(range(count), key=lambda i: (view.forecasts[i].median, tie_break[i]))
        spread = {ranked[(2 * k + 1) * count // (2 * take)] for k in range(take)}
        known = f"the forecaster has learnt from {view.learnt} of {self._settings.explore_until} measurements"
        yes = Choice(Action.MEASURE, f"{known}: one of {take} spread over the batch")
        no = Choice(Action.DROP, f"{known}: not among the {take} of {count} spread over the batch")
        return [yes if i in spread else no for i in range(count)]


def audited(choices: Sequence[Choice], share: float, view: View, rng: np.random.Generator) -> list[Choice]:
    """The choices with a random `share` of those not to be measured marked for measuring anyway, as budgets allow.

    Every such candidate has the same chance whatever its forecast; audits are measured after what was chosen.
    """
    draws = rng.random(len(choices))
    left = view.affordable - sum(choice.to_measure for choice in choices)
    marked = list(choices)
    for i, choice in enumerate(choices):
        if left > 0 and not choice.to_measure and draws[i] < share:
            why = f"{choice.reason}; measured anyway as part of the {share:.0%} audit"
            marked[i] = replace(choice, reason=why, audit=True, priority=-np.inf)
            left -= 1
    return marked


def make_policy(name: str, profile: Profile) -> Policy:
    """The policy of that name with a profile's settings; ValueError with the known names otherwise."""
    match name:
        case "all":
            return AllPolicy()
        case "random":
            return RandomPolicy(profile)
        case "top":
            return TopPolicy(profile)
        case "selective":
            return SelectivePolicy(profile)
        case _:
            raise ValueError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")


POLICIES = ("all", "random", "top", "selective")


def _unaffordable(view: View) -> Choice:
    return Choice(Action.DROP, f"the budget allows {view.affordable} more measurements, spent on others of this batch")
