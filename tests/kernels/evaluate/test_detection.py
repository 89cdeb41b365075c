from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from foretell.belief import Forecast
from foretell.kernels.evaluate.detection import auroc, average_precision, prob_faster

_SCORED = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5001, 2.0]), st.booleans()), min_size=2, max_size=40)


def test_by_hand() -> None:
    # Pairs (positive, negative): 0.9 beats 0.8 and 0.1, 0.4 loses to 0.8 and beats 0.1.
    assert auroc([0.9, 0.8, 0.4, 0.1], [True, False, True, False]) == 0.75
    # First hit at rank 1, second at rank 3.
    assert average_precision([0.9, 0.8, 0.4, 0.1], [True, False, True, False]) == pytest.approx((1 + 2 / 3) / 2)


def test_a_constant_score_has_no_skill() -> None:
    assert auroc([0.2] * 4, [True, False, False, False]) == 0.5
    assert average_precision([0.2] * 4, [True, False, False, False]) == 0.25


def test_no_answer_without_both_kinds() -> None:
    assert math.isnan(auroc([1.0, 2.0], [True, True]))
    assert math.isnan(average_precision([1.0, 2.0], [False, False]))


@given(_SCORED)
def test_agrees_with_another_implementation(rows: list[tuple[float, bool]]) -> None:
    scores, truth = zip(*rows, strict=True)
    if any(truth):
        assert average_precision(scores, truth) == pytest.approx(average_precision_score(truth, scores))
    if any(truth) and not all(truth):
        assert auroc(scores, truth) == pytest.approx(roc_auc_score(truth, scores))


@pytest.mark.parametrize("bad", [([math.nan, 1.0], [True, False]), ([1.0], [True, False])])
def test_bad_columns_are_refused(bad: tuple[list[float], list[bool]]) -> None:
    with pytest.raises(ValueError):
        auroc(*bad)


def test_the_chance_of_being_faster() -> None:
    slow, fast = Forecast.from_normal(-2.0, 0.1, 0.0), Forecast.from_normal(2.0, 0.1, 0.25)
    assert prob_faster(slow, slow) == 0.5
    assert prob_faster(fast, slow) == 0.75
    assert prob_faster(slow, fast) == 0.0
    near = prob_faster(Forecast.from_normal(0.5, 1.0, 0.0), Forecast.from_normal(0.0, 1.0, 0.0))
    draws = np.random.default_rng(0).normal(size=(2, 200_000))
    assert near == pytest.approx(float((draws[0] + 0.5 > draws[1]).mean()), abs=0.01)
