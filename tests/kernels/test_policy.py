"""Measure, trust or drop: each policy's own rule, on top of what every policy must do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foretell.belief import Forecast
from foretell.kernels.policy import POLICIES, Action, Choice, Policy, View, audited, make_policy
from foretell.kernels.profiles import QUICK
from foretell.testing.conformance import PolicyConformance, random_view

PLAIN = replace(QUICK, audit_share=0.0)
RICH = View((), 2.0, 100, 0, 0.1, 1000, 1e6, 5)


def decide(name: str, forecasts: list[Forecast], seed: int = 0, **view: object) -> list[Choice]:
    seen = replace(RICH, forecasts=tuple(forecasts), **view)  # type: ignore[arg-type]
    return make_policy(name, PLAIN).decide(seen, np.random.default_rng(seed))


class TestAll(PolicyConformance):
    @pytest.fixture
    def policy(self) -> Policy:
        return make_policy("all", QUICK)


class TestRandom(PolicyConformance):
    @pytest.fixture
    def policy(self) -> Policy:
        return make_policy("random", QUICK)


class TestTop(PolicyConformance):
    @pytest.fixture
    def policy(self) -> Policy:
        return make_policy("top", QUICK)


class TestSelective(PolicyConformance):
    @pytest.fixture
    def policy(self) -> Policy:
        return make_policy("selective", QUICK)


def test_all_measures_everything() -> None:
    choices = decide("all", list(random_view(0).forecasts))
    assert {choice.action for choice in choices} == {Action.MEASURE}


@pytest.mark.parametrize("name", ["random", "top"])
def test_random_and_top_measure_a_fixed_number(name: str) -> None:
    choices = decide(name, list(random_view(0).forecasts))
    assert sum(choice.action is Action.MEASURE for choice in choices) == PLAIN.measure_per_batch
    assert {choice.action for choice in choices} == {Action.MEASURE, Action.DROP}


def test_random_draws_differently_each_time() -> None:
    forecasts = list(random_view(0).forecasts)
    drawn = {tuple(c.action for c in decide("random", forecasts, seed)) for seed in range(10)}
    assert len(drawn) > 5


def test_top_takes_the_highest_and_fears_failure() -> None:
    forecasts = [Forecast.from_normal(m, 0.1, p) for m, p in [(3, 0.95), (1, 0), (2, 0), (0, 0), (1.5, 0), (0.5, 0)]]
    choices = decide("top", forecasts)
    assert [i for i, choice in enumerate(choices) if choice.action is Action.MEASURE] == [1, 2, 4, 5]
    assert max(range(6), key=lambda i: choices[i].priority) == 2


def test_selective_lets_doubt_decide() -> None:
    sure_and_slow = Forecast.from_normal(0.0, 0.1, 0.05)
    unsure_and_slow = Forecast.from_normal(-4.0, 1.5, 0.05)
    doomed = Forecast.from_normal(3.0, 0.2, 0.97)
    promising = Forecast.from_normal(0.9, 0.4, 0.1)
    better = Forecast.from_normal(1.5, 0.4, 0.1)
    choices = decide("selective", [sure_and_slow, unsure_and_slow, doomed, promising, better])
    assert [choice.action for choice in choices] == [
        Action.TRUST,
        Action.DROP,
        Action.DROP,
        Action.MEASURE,
        Action.MEASURE,
    ]
    assert choices[4].priority > choices[3].priority
    assert "chance of more than 2.04x" in choices[0].reason
    assert "1.00x" in choices[0].reason
    assert "too wide" in choices[1].reason
    assert "97% likely to fail" in choices[2].reason


def test_selective_has_no_fixed_number() -> None:
    hopeless = [Forecast.from_normal(-3.0, 0.1, 0.1)] * 16
    assert not any(choice.to_measure for choice in decide("selective", hopeless))
    hopeful = [Forecast.from_normal(1.0 + 0.1 * i, 0.3, 0.1) for i in range(16)]
    measured = [i for i, choice in enumerate(decide("selective", hopeful)) if choice.to_measure]
    assert measured == list(range(16 - PLAIN.max_measure_per_batch, 16))


def test_selective_looks_again_at_what_was_past_the_maximum() -> None:
    assert make_policy("selective", PLAIN).reconsiders > 0
    hopeless, left = Forecast.from_normal(-3.0, 0.1, 0.1), Forecast.from_normal(1.5, 0.3, 0.1)
    choices = decide("selective", [hopeless, hopeless, left, hopeless], fresh=2)
    assert [choice.to_measure for choice in choices] == [False, False, True, False]
    assert not any(choice.to_measure for choice in decide("selective", [left], fresh=0, learnt=0)), "new ones first"


def test_selective_explores_a_spread_before_it_knows_anything() -> None:
    forecasts = [Forecast.from_normal(-5.0 + 0.1 * i, 0.01, 0.0) for i in range(16)]
    choices = decide("selective", forecasts, learnt=0)
    assert [i for i, choice in enumerate(choices) if choice.to_measure] == [1, 3, 5, 7, 9, 11, 13, 15]
    same = [Forecast.from_normal(0.0, 1.0, 0.2)] * 16
    drawn = {tuple(c.action for c in decide("selective", same, seed, learnt=0)) for seed in range(10)}
    assert len(drawn) > 5


def test_the_audit_takes_its_share_of_what_is_not_measured() -> None:
    view = replace(RICH, remaining_measurements=10**9, mean_cost_s=None)
    choices = [Choice(Action.MEASURE, "m"), *[Choice(Action.TRUST, "t"), Choice(Action.DROP, "d")] * 5000]
    marked = audited(choices, 0.05, view, np.random.default_rng(0))
    for action in (Action.TRUST, Action.DROP):
        share = np.mean([choice.audit for choice in marked if choice.action is action])
        assert 0.04 < share < 0.06
    assert marked[0] == choices[0]
    assert all("5% audit" in choice.reason for choice in marked if choice.audit)


def test_the_audit_stays_within_the_budget() -> None:
    choices = [Choice(Action.DROP, "d")] * 100
    marked = audited(choices, 1.0, replace(RICH, remaining_measurements=7), np.random.default_rng(0))
    assert sum(choice.audit for choice in marked) == 7


def test_an_unknown_policy_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="selective"):
        make_policy("greedy", QUICK)
    assert [make_policy(name, QUICK).name for name in POLICIES] == list(POLICIES)


class TestValue(PolicyConformance):
    @pytest.fixture
    def policy(self) -> Policy:
        return make_policy("value", QUICK)


def sure(log2: float, p_fail: float = 0.0) -> Forecast:
    return Forecast.from_normal(log2, 0.05, p_fail)


def test_value_begins_with_the_fastest_forecast_a_failure_counting_against_it() -> None:
    choices = decide("value", [sure(1.0), sure(1.5, 0.8), sure(0.5)], fastest=None, remaining_measurements=1)
    assert [choice.to_measure for choice in choices] == [True, False, False]


def test_value_does_not_measure_near_copies_of_what_it_has_chosen() -> None:
    doubtful = Forecast.from_normal(0.9, 0.8, 0.0)
    choices = decide("value", [sure(1.5), sure(1.49), sure(1.48), doubtful], fastest=2.0, remaining_measurements=2)
    assert [choice.to_measure for choice in choices] == [True, False, False, True]


def test_value_counts_on_what_is_pending() -> None:
    choices = decide("value", [sure(1.5), sure(3.0)], fastest=2.0, promised=4.0)
    assert [choice.to_measure for choice in choices] == [False, True]


def test_value_prefers_the_gain_that_costs_less_time() -> None:
    risky, safe = Forecast.from_normal(2.0, 0.3, 0.5), Forecast.from_normal(1.49, 0.3, 0.0)
    seen = {"fastest": 2.0, "remaining_measurements": 1, "worked_cost_s": 1.0}
    assert decide("value", [risky, safe], failed_cost_s=0.1, **seen)[0].to_measure
    assert decide("value", [risky, safe], failed_cost_s=10.0, **seen)[1].to_measure


def test_value_leaves_what_is_sure_to_be_slower() -> None:
    choices = decide("value", [sure(0.5), sure(0.2)], fastest=4.0)
    assert not any(choice.to_measure for choice in choices)


def test_value_saves_while_more_is_to_come_and_spends_at_the_end() -> None:
    batch = [Forecast.from_normal(0.1 * i, 0.1, 0.0) for i in range(16)]
    alike = [Forecast.from_normal(0.0, 1.0, 0.0) for i in range(16)]
    seen = {"fastest": 1.0, "remaining_measurements": 80}
    first = decide("value", batch, to_consider=144, **seen)
    later = decide("value", batch, to_consider=96, considered=48, measured=1, **{**seen, "remaining_measurements": 79})
    late = decide("value", alike, to_consider=0, **seen)
    blind = decide("value", alike, to_consider=144, **seen)
    assert sum(choice.to_measure for choice in first) == 1  # an eighth of the even pace of 8
    assert sum(choice.to_measure for choice in later) > 1  # and what was not used before
    assert sum(choice.to_measure for choice in blind) == 8  # who knows nothing can only learn
    assert sum(choice.to_measure for choice in late) == PLAIN.max_measure_per_batch


def test_value_trusts_only_what_is_narrow_and_audits_only_what_is_new() -> None:
    policy = make_policy("value", replace(QUICK, audit_share=1.0))
    forecasts = (sure(0.1), Forecast.from_normal(-4.0, 1.0, 0.9), sure(0.1), sure(0.1))
    view = replace(RICH, forecasts=forecasts, fastest=4.0, fresh=2)
    new, doubtful, *seen = policy.decide(view, np.random.default_rng(0))
    assert new.audit and doubtful.audit and not any(choice.to_measure for choice in seen)
    assert new.action is Action.TRUST and doubtful.action is Action.DROP


def test_selective_measures_more_after_misses_and_less_while_there_are_none() -> None:
    batch = [Forecast.from_normal(0.0, spread, 0.0) for spread in (0.3, 0.45, 0.6, 0.8, 1.0)]  # all under 2.00x

    def measured(audited: int, missed: int) -> int:
        choices = decide("selective", batch, audited=audited, missed=missed)
        return sum(choice.to_measure for choice in choices)

    counts = [measured(100, 9), measured(0, 0), measured(40, 0)]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == 3
    assert measured(20, 1) == measured(0, 0)  # as many misses as are to be expected


def test_selective_never_stops_measuring_for_lack_of_misses() -> None:
    likely = Forecast.from_normal(1.2, 0.3, 0.0)
    assert decide("selective", [likely], audited=10_000)[0].to_measure


def test_value_begins_with_a_few_while_costs_are_unknown() -> None:
    alike = [Forecast.from_normal(0.0, 1.0, 0.0) for _ in range(16)]
    choices = decide("value", alike, fastest=None, mean_cost_s=None, to_consider=16)
    assert sum(choice.to_measure for choice in choices) == PLAIN.measure_per_batch
