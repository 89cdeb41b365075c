"""Policies: measure, trust or drop. Pure functions of what is believed, what is at stake and what is left to spend.

`all` measures everything; `random` and `top` measure a fixed number of each batch and drop the rest (the baselines);
`selective` lets the forecast's own doubt decide, `value` what a second of the device is expected to gain. All but
`all` measure a small random share of what they would not have measured, the audit, so that calibration can be checked
on candidates the policy did not pick.
"""

from __future__ import annotations

import math
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
    seconds of a measurement (None before the first). The first `fresh` forecasts are of new candidates (all of them by
    default), the others of candidates that were left unmeasured before; `to_consider` more may still be proposed after
    these, and `considered` were before, of which `measured` count against the budget. `fastest` is the best measured
    speedup even if below 1 (None before anything worked), `promised` the highest median among those decided on but not
    yet measured; `worked_cost_s` and `failed_cost_s` part the mean cost by how it went (None where there was none). Of
    `audited` candidates, which no policy had picked, `missed` were faster than the fastest before them: what was
    overlooked.
    """

    forecasts: tuple[Forecast, ...]
    incumbent: float
    learnt: int
    pending: int
    mean_cost_s: float | None
    remaining_measurements: int
    remaining_s: float
    round: int
    fresh: int | None = None
    to_consider: int = 0
    fastest: float | None = None
    promised: float | None = None
    worked_cost_s: float | None = None
    failed_cost_s: float | None = None
    measured: int = 0
    considered: int = 0
    audited: int = 0
    missed: int = 0

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
    """Decides what is measured. `name` goes into the run; `reconsiders` is how many candidates that were left
    unmeasured it wants to see again beside new ones: those whose forecasts promised most."""

    name: str
    reconsiders: int

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        """One choice for each forecast, in order, with at most `view.affordable` of them to be measured.

        Pure: depends on nothing but the view, the generator's state and the policy's own settings.
        """
        ...


class AllPolicy:
    """Measure everything the budget allows."""

    name = "all"
    reconsiders = 0

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        count = len(view.forecasts)
        measured = Choice(Action.MEASURE, "every candidate is measured")
        return [measured if i < view.affordable else _unaffordable(view) for i in range(count)]


class RandomPolicy:
    """Measure a fixed number of each batch, drawn at random."""

    name = "random"
    reconsiders = 0

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
    reconsiders = 0

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


_STILL_LEFT = Choice(Action.DROP, "others are expected to gain more; still kept in mind")


class SelectivePolicy:
    """Measure where the forecast leaves a real chance of a better kernel; see `SelectiveSettings` for the rule.

    What is measured goes in order of expected improvement, up to a maximum per batch and no fixed number: a batch with
    nothing promising in it costs nothing. What is past that maximum comes up again with the next batches.
    """

    name = "selective"

    def __init__(self, profile: Profile) -> None:
        self._settings: SelectiveSettings = profile.selective
        self.reconsiders = profile.selective.reconsider
        self._max_per_batch = profile.max_measure_per_batch
        self._audit_share = profile.audit_share

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        fresh = len(view.forecasts) if view.fresh is None else view.fresh
        if view.learnt < self._settings.explore_until:
            return self._explore(view, fresh, rng) + [_STILL_LEFT] * (len(view.forecasts) - fresh)
        goal = view.incumbent * (1.0 + self._settings.min_gain)
        chances = [f.prob_above(goal) for f in view.forecasts]
        gains = [f.expected_improvement(view.incumbent) for f in view.forecasts]
        least = self._threshold(view)
        worth = [i for i, chance in enumerate(chances) if chance >= least]
        tie_break = rng.permutation(len(chances))
        worth.sort(key=lambda i: (-gains[i], tie_break[i]))
        take = min(self._max_per_batch, view.affordable)
        chosen = set(worth[:take])
        choices = []
        for i, forecast in enumerate(view.forecasts[:fresh]):
            chance = f"{chances[i]:.1%} chance of more than {goal:.2f}x"
            if i in chosen:
                why = f"{chance}, expected gain {gains[i]:.3f} in log2"
                choices.append(Choice(Action.MEASURE, why, priority=gains[i]))
            elif chances[i] >= least:
                choices.append(
                    self._without_measuring(forecast, f"{chance}, but {take} others promise more; kept in mind")
                )
            else:
                choices.append(self._without_measuring(forecast, f"only {chance}, under {least:.1%}"))
        again = [
            Choice(Action.MEASURE, f"kept in mind: expected gain {gains[i]:.3f} in log2", priority=gains[i])
            if i in chosen else _STILL_LEFT
            for i in range(fresh, len(chances))
        ]  # fmt: skip
        return [*audited(choices, self._audit_share, view, rng, len(chosen)), *again]

    def _threshold(self, view: View) -> float:
        """The chance from which a candidate is measured: lower for each audit that found a miss, and a little higher
        for each that did not, so that misses become as rare as `target_error`, and not much rarer."""
        settings = self._settings
        ahead = settings.target_error * view.audited - view.missed
        factor = math.exp(ahead if ahead > 0.0 else settings.adapt * ahead)
        return min(settings.most_epsilon, settings.epsilon * factor)

    def _without_measuring(self, forecast: Forecast, why: str) -> Choice:
        settings = self._settings
        low, high = forecast.interval(settings.interval_level)
        if forecast.p_fail > settings.max_p_fail:
            return Choice(Action.DROP, f"{why}; {forecast.p_fail:.0%} likely to fail")
        doubt = f"{settings.interval_level:.0%} interval {2.0**low:.2f}x to {2.0**high:.2f}x"
        if high - low <= settings.trust_width_log2:
            return Choice(Action.TRUST, f"{why}; {doubt} is narrow enough to take {2.0**forecast.median:.2f}x")
        return Choice(Action.DROP, f"{why}; {doubt} is too wide to take as a value")

    def _explore(self, view: View, count: int, rng: np.random.Generator) -> list[Choice]:
        """Measure a spread of the new ones: evenly spaced ranks of the forecast median, ties in random order."""
        take = min(self._settings.explore_per_batch, count, view.affordable)
        tie_break = rng.permutation(count)
        ranked = sorted(range(count), key=lambda i: (view.forecasts[i].median, tie_break[i]))
        spread = {ranked[(2 * k + 1) * count // (2 * take)] for k in range(take)}
        known = f"the forecaster has learnt from {view.learnt} of {self._settings.explore_until} measurements"
        yes = Choice(Action.MEASURE, f"{known}: one of {take} spread over the batch")
        no = Choice(Action.DROP, f"{known}: not among the {take} of {count} spread over the batch")
        return [yes if i in spread else no for i in range(count)]


class ValuePolicy:
    """Measure what a second of the device is expected to gain most from, and keep the rest in mind.

    A candidate's value is its expected improvement on the fastest so far, a failure counting as none, for each second
    that measuring it is expected to take, a failure taking as long as failures did in this run (what it took to build
    is spent already). Choices are made one by one, each improving on what the ones before it, and what is pending,
    promise: near copies of one good idea are not all measured. Nothing is lost by waiting, since what was left comes up
    again with what was learnt since; so while new candidates can still be had, less than the even pace is spent, down
    to a share `patience` of it, and what remains is spent on the best of all when there are no more.
    """

    name = "value"

    def __init__(self, profile: Profile) -> None:
        self._settings = profile.value
        self._first = profile.measure_per_batch
        self._max_per_batch = profile.max_measure_per_batch
        self._trusted = profile.selective
        self._audit_share = profile.audit_share
        self.reconsiders = profile.value.reconsider

    def decide(self, view: View, rng: np.random.Generator) -> list[Choice]:
        count = len(view.forecasts)
        fresh = count if view.fresh is None else view.fresh
        take = min(self._share(view, fresh), count)
        tie_break = rng.permutation(count)
        left, chosen = list(range(count)), {}
        goals = [speedup for speedup in (view.fastest, view.promised) if speedup is not None]
        goal, gains = max(goals, default=None), dict[int, float]()
        for rank in range(take):
            if not gains or goal != max(goals, default=None):
                goal = max(goals, default=None)
                gains = {i: _gain(view.forecasts[i], goal) for i in left}
            worth = gains if goal is None else {i: gains[i] / _seconds(view, view.forecasts[i]) for i in left}
            best = max(left, key=lambda i: (worth[i], tie_break[i]))
            if goal is not None and gains[best] < self._settings.least_gain_log2:
                break
            what = f"{gains[best]:.3f} in log2 over {goal:.2f}x" if goal else "the fastest that has yet been forecast"
            chosen[best] = Choice(
                Action.MEASURE, f"number {rank + 1} in expected gain per second: {what}", priority=-rank
            )
            left.remove(best)
            goals.append(2.0 ** view.forecasts[best].median)
        over = max(goals, default=1.0)
        choices = [chosen.get(i) or self._kept(view.forecasts[i], over) for i in range(fresh)]
        choices += [chosen.get(i, _STILL_LEFT) for i in range(fresh, count)]
        return [*audited(choices[:fresh], self._audit_share, view, rng, len(chosen)), *choices[fresh:]]

    def _share(self, view: View, fresh: int) -> int:
        """How many to measure now: as many as are left at the end; before, what a slow pace allows so far.

        The pace is even where forecasts do not tell candidates apart, and slower the better they do: what could be
        learnt by measuring is then known already, and better ones may come.
        """
        # Before the first measurement nobody knows how many the seconds pay for.
        room = min(view.affordable, self._first if view.mean_cost_s is None else self._max_per_batch)
        if view.to_consider <= 0:
            return room
        seen = view.considered + fresh
        pace = (view.measured + view.affordable) * seen / (seen + view.to_consider)
        share = max(self._settings.patience, (1.0 - _told_apart(view.forecasts)) ** 3)
        return min(room, max(0, math.floor(share * pace - view.measured)))

    def _kept(self, forecast: Forecast, goal: float) -> Choice:
        """For now unmeasured: its forecast is its value where that is narrow, and it may come up again."""
        low, high = forecast.interval(self._trusted.interval_level)
        why = f"expected to gain {_gain(forecast, goal):.3f} in log2 over {goal:.2f}x, less than others; kept in mind"
        if forecast.p_fail <= self._trusted.max_p_fail and high - low <= self._trusted.trust_width_log2:
            return Choice(Action.TRUST, f"{why}, at {2.0**forecast.median:.2f}x for now")
        return Choice(Action.DROP, why)


def _gain(forecast: Forecast, goal: float | None) -> float:
    """Expected improvement in log2; before there is a goal the forecast's middle, a failure counting against it."""
    if goal is None:
        return forecast.median + math.log2(max(1.0 - forecast.p_fail, 1e-9))
    return forecast.expected_improvement(goal)


def _told_apart(forecasts: Sequence[Forecast]) -> float:
    """How much of what may come lies between candidates, not in doubt about each: 0 where all are forecast alike."""
    if not forecasts:
        return 0.0
    between = float(np.var([forecast.mean for forecast in forecasts]))
    within = float(np.mean([forecast.std**2 for forecast in forecasts]))
    return between / max(between + within, 1e-12)


def _seconds(view: View, forecast: Forecast) -> float:
    """What measuring is expected to take, by what the run's measurements took; 1 while that is not known."""
    worked, failed = view.worked_cost_s or view.mean_cost_s or 1.0, view.failed_cost_s or view.mean_cost_s or 1.0
    return (1.0 - forecast.p_fail) * worked + forecast.p_fail * failed


def audited(
    choices: Sequence[Choice], share: float, view: View, rng: np.random.Generator, chosen: int | None = None
) -> list[Choice]:
    """The choices with a random `share` of those not to be measured marked for measuring anyway, as budgets allow.

    Every such candidate has the same chance whatever its forecast; audits are measured after what was chosen,
    which is what the choices say unless `chosen` tells of more.
    """
    draws = rng.random(len(choices))
    left = view.affordable - (sum(choice.to_measure for choice in choices) if chosen is None else chosen)
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
        case "value":
            return ValuePolicy(profile)
        case _:
            raise ValueError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")


POLICIES = ("all", "random", "top", "selective", "value")


_OVER_BUDGET = "the budget allows "


def is_over_budget(reason: str) -> bool:
    """Whether this is the reason of a choice that was made for the budget alone."""
    return reason.startswith(_OVER_BUDGET)


def _unaffordable(view: View) -> Choice:
    return Choice(Action.DROP, f"{_OVER_BUDGET}{view.affordable} more measurements, spent on others of this batch")
