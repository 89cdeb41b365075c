"""The threshold holds the rate of false interruptions under its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.gui.threshold import Threshold, threshold_for
from foretell.gui.train_critic import fit_scale, lower_bound

scores = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=80)


@given(scores, st.floats(0.01, 0.9))
def test_it_is_the_smallest_that_meets_the_bound(good: list[float], bound: float) -> None:
    found = threshold_for(good, bound)

    def rate(value: float) -> float:
        return (sum(score > value for score in good) + 1) / (len(good) + 1)

    if math.isfinite(found.value):
        assert rate(found.value) <= bound + 1e-9
        below = max((score for score in good if score < found.value), default=-1.0)
        assert rate(below) > bound - 1e-9
    else:
        assert 1 / (len(good) + 1) > bound - 1e-9


@given(scores, st.integers(1, 60))
@settings(max_examples=60)
def test_the_bound_holds_on_exchangeable_scores(good: list[float], percent: int) -> None:
    """Exactly: leave each one out in turn, as exchangeability makes each as likely to be the next one."""
    bound = percent / 100
    false = [threshold_for(good[:i] + good[i + 1 :], bound).cleared_by(good[i]) for i in range(len(good))]
    assert sum(false) / len(good) <= bound + 1e-9


def test_the_bound_holds_on_average_over_draws() -> None:
    rng = np.random.default_rng(7)
    rates = []
    for _ in range(300):
        drawn = rng.beta(1.0, 6.0, 300)
        found = threshold_for(drawn[:200], 0.05)
        rates.append(np.mean([found.cleared_by(p) for p in drawn[200:]]))
    assert 0.03 < float(np.mean(rates)) <= 0.055


def test_too_few_or_no_proposals_allow_no_interruption() -> None:
    for good in ([], [0.1] * 48):
        assert not threshold_for(good, 0.02).cleared_by(1.0)
    assert threshold_for([0.1] * 49, 0.02).cleared_by(0.2)


def test_ties_are_not_interrupted() -> None:
    assert not threshold_for([0.3] * 1000, 0.02).cleared_by(0.3)


def test_no_number_never_interrupts() -> None:
    assert not threshold_for([0.1] * 100).cleared_by(math.nan)


def test_it_is_written_and_read() -> None:
    for found in (threshold_for([0.1] * 100), threshold_for([])):
        assert Threshold.from_dict(found.to_dict()) == found


def test_proposals_that_fail_together_are_worth_fewer() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(2000)
    mixed, alike = rng.integers(0, 40, 2000), np.argsort(np.argsort(-scores)) // 50  # alike: the worst are one task's
    alone = threshold_for(scores, 0.05)
    assert threshold_for(scores, 0.05, mixed).value == pytest.approx(alone.value, abs=0.01)
    assert threshold_for(scores, 0.05, alike).value > alone.value + 0.01
    assert threshold_for(scores[:30], 0.02, mixed[:30]).value == math.inf


def test_bad_input_is_refused() -> None:
    for bound in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="bound on false interruptions"):
            threshold_for([0.1], bound)
    with pytest.raises(ValueError, match="2 judgements of good proposals, but 1 tasks"):
        threshold_for([0.1, 0.2], 0.02, ["click-tab"])
    with pytest.raises(ValueError, match="no P"):
        threshold_for([0.1, math.nan])


def test_proposals_without_an_intent_can_have_thresholds_of_their_own() -> None:
    silent = Threshold(0.9, 0.02, 100, {"drag": 0.95})
    both = Threshold(0.5, 0.02, 100, {"drag": 0.6}, silent)
    assert [both.of(sort, stated) for sort in ("step", "drag") for stated in (True, False)] == [0.5, 0.9, 0.6, 0.95]
    assert both.cleared_by(0.7) and not both.cleared_by(0.7, stated=False)
    assert Threshold(0.5, 0.02, 100).cleared_by(0.7, stated=False)


def test_endings_and_drags_have_thresholds_of_their_own() -> None:
    both = Threshold(0.9, 0.02, 500, {"ending": 0.6, "drag": math.inf})
    assert both.cleared_by(0.7, "ending") and not both.cleared_by(0.7) and not both.cleared_by(0.999, "drag")
    assert not Threshold(0.9, 0.02, 500).cleared_by(0.7, "ending")
    assert Threshold.from_dict(both.to_dict()) == both
    rng = np.random.default_rng(0)
    ends = rng.random(4000) < 0.3
    scores = np.where(ends, rng.normal(-2.0, 1.0, 4000), rng.normal(0.0, 1.0, 4000))
    bad = rng.random(4000) < 0.4
    scores = np.where(bad, scores + 3.0, scores)
    scale = fit_scale(scores, bad, np.zeros(4000), np.where(ends, "ending", "step"))
    found = next(t for t in scale.thresholds if t.bound == 0.05)
    p_bad = scale.chances.apply(scores)
    assert (p_bad[ends & ~bad] > found.of("ending")).mean() <= 0.05
    assert (p_bad[~ends & ~bad] > found.value).mean() <= 0.05
    assert found.apart.keys() == {"ending"} and found.of("ending") < found.value == found.of("drag")
    few = fit_scale(scores, bad, np.zeros(4000), np.where(np.arange(4000) < 5, "drag", "step")).thresholds
    assert all(t.of("drag") == math.inf for t in few)  # too few to promise anything


def test_a_bound_can_hold_for_each_task_and_few_endings_share_that_of_steps() -> None:
    rng = np.random.default_rng(0)
    task = np.array(["one", "two", "three", "odd"])[np.arange(4000) % 4]
    bad = rng.random(4000) < 0.5
    scores = np.where(bad, 2.0, -2.0) + rng.normal(0, 1, 4000)
    odd = (task == "odd") & ~bad & (rng.random(4000) < 0.06)
    scores[odd] += 4.0
    sort = np.where(np.arange(4000) < 12, "ending", "step")

    def above(each: bool) -> tuple[int, float]:
        scale = fit_scale(scores, bad, task, sort, each)
        limit = next(one for one in scale.thresholds if one.bound == 0.02)
        assert "ending" not in limit.apart
        return int((scale.chances.apply(scores[(task == "odd") & ~bad]) > limit.value).sum()), limit.value

    total = int(((task == "odd") & ~bad).sum())
    (all_together, low), (by_itself, high) = above(False), above(True)
    assert low < high and lower_bound(by_itself, total) <= 0.02 < lower_bound(all_together, total)
    assert lower_bound(0, 0) == lower_bound(0, 50) == 0.0
