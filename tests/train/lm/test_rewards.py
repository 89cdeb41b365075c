from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.train.lm import rewards

CHANCES = st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4).map(lambda v: tuple(x / sum(v) for x in v))


@given(CHANCES, CHANCES)
def test_rewards_lie_between_minus_one_and_one(stated: tuple[float, ...], target: tuple[float, ...]) -> None:
    for part in rewards.PARTS.values():
        assert -1.0 <= part(stated, target) <= 1.0


@given(CHANCES, CHANCES)
def test_no_distribution_beats_the_true_one_under_a_proper_score(
    stated: tuple[float, ...], target: tuple[float, ...]
) -> None:
    for name in ("brier", "crps"):
        assert rewards.PARTS[name](target, target) >= rewards.PARTS[name](stated, target)


def test_correctness_does_not_care_how_sure_an_answer_is() -> None:
    assert rewards.correctness((0.4, 0.3, 0.3), (1.0, 0.0, 0.0)) == rewards.correctness((1.0, 0, 0), (1.0, 0, 0)) == 1.0


def test_crps_forgives_a_near_miss() -> None:
    target = (0.0, 0.0, 1.0)
    assert rewards.crps((0.0, 1.0, 0.0), target) > rewards.crps((1.0, 0.0, 0.0), target)
    assert rewards.brier((0.0, 1.0, 0.0), target) == rewards.brier((1.0, 0.0, 0.0), target)


def test_weights_are_honoured() -> None:
    stated, target = (0.7, 0.2, 0.1), (0.0, 1.0, 0.0)
    mixed = rewards.make("correctness+crps", {"correctness": 0.25, "crps": 2.0})(stated, target)
    expected = 0.25 * rewards.correctness(stated, target) + 2.0 * rewards.crps(stated, target)
    assert mixed == pytest.approx(expected)


@pytest.mark.parametrize(("name", "weights"), [("speed", None), ("correctness+brier", {"correctness": 1.0})])
def test_a_reward_that_is_not_there_or_lacks_a_weight(name: str, weights: dict[str, float] | None) -> None:
    with pytest.raises(ValueError, match=r"reward"):
        rewards.make(name, weights)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weights_are_numbers_from_nothing_on(weight: float) -> None:
    with pytest.raises(ValueError, match="weight of crps"):
        rewards.make("crps", {"crps": weight})


def test_no_readable_answer_is_worth_less_than_one_that_is_not() -> None:
    weights = {"correctness": 1.0, "crps": 10.0}
    worst = rewards.make("correctness+crps", weights)((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert rewards.unreadable("correctness+crps", weights) <= worst
    assert rewards.unreadable("correctness") == rewards.UNREADABLE


def test_named_rewards_are_all_made() -> None:
    for name in rewards.NAMED:
        assert np.isfinite(rewards.make(name)((0.5, 0.5), (1.0, 0.0)))
