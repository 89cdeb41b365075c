import math
from itertools import pairwise

import numpy as np
import pytest
import scoringrules
from hypothesis import assume
from hypothesis import strategies as st
from scipy.integrate import quad
from sklearn.metrics import brier_score_loss

from foretell.belief import Forecast, scoring

from .strategies import bin_probs, forecasts, given

RULES = [scoring.half_brier, scoring.ranked_probability_score, scoring.log_loss]


@pytest.mark.parametrize("rule", RULES)
@given(truth=bin_probs(), other=bin_probs())
def test_rules_over_bins_are_proper(rule, truth: list[float], other: list[float]) -> None:
    """On average nobody does better than by stating the true probabilities."""
    outcomes = np.arange(8)
    honest = np.array(truth) @ rule(np.tile(truth, (8, 1)), outcomes)
    lying = np.array(truth) @ rule(np.tile(other, (8, 1)), outcomes)
    assert honest <= lying + 1e-9
    if max(abs(a - b) for a, b in zip(truth, other, strict=True)) > 0.05:
        assert honest < lying


@given(st.integers(0, 7), st.integers(0, 7))
def test_certainty_scores_by_hand(said: int, came: int) -> None:
    probs = np.eye(8)[said]
    assert scoring.ranked_probability_score(probs, came)[0] == abs(said - came)
    assert scoring.half_brier(probs, came)[0] == (said != came)
    expected = 0.0 if said == came else -math.log(scoring.LOG_FLOOR)
    assert scoring.log_loss(probs, came)[0] == pytest.approx(expected)


def test_rules_over_bins_agree_with_scoringrules() -> None:
    rng = np.random.default_rng(0)
    probs, outcome = rng.dirichlet(np.ones(8), 50), rng.integers(0, 8, 50)
    assert scoring.ranked_probability_score(probs, outcome) == pytest.approx(
        scoringrules.rps_score(outcome + 1, probs), abs=1e-12
    )
    assert scoring.log_loss(probs, outcome, floor=1e-12) == pytest.approx(-np.log(probs[np.arange(50), outcome]))


def test_failure_brier_agrees_with_sklearn() -> None:
    rng = np.random.default_rng(1)
    p, failed = rng.random(200), rng.random(200) < 0.3
    assert scoring.failure_brier(p, failed).mean() == pytest.approx(brier_score_loss(failed, p))
    two = scoring.half_brier(np.column_stack((1 - p, p)), failed.astype(int))
    assert scoring.failure_brier(p, failed) == pytest.approx(two)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_failure_rules_are_proper(truth: float, other: float) -> None:
    for rule in (scoring.failure_brier, scoring.failure_log_loss):
        honest = np.dot([truth, 1 - truth], rule([truth, truth], [True, False]))
        lying = np.dot([truth, 1 - truth], rule([other, other], [True, False]))
        assert honest <= lying + 1e-12


@given(forecasts(), st.floats(-8.0, 8.0))
def test_crps_is_its_integral(f: Forecast, y: float) -> None:
    stops = sorted({y, *f.knots})
    pieces = pairwise(stops)
    total = sum(quad(lambda x: (f.cdf(x) - (x >= y)) ** 2, a, b)[0] for a, b in pieces)
    assert scoring.crps(f, y) == pytest.approx(total, abs=1e-8)


@given(st.floats(-2.0, 2.0), st.floats(0.05, 2.0), st.floats(-5.0, 5.0))
def test_crps_of_a_normal_agrees_with_scoringrules(mean: float, std: float, y: float) -> None:
    f = Forecast.from_normal(mean, std, 0.3)
    assert scoring.crps(f, y) == pytest.approx(scoringrules.crps_normal(y, mean, std), abs=0.004 * std)


@given(forecasts(), st.floats(-6.0, 6.0))
def test_crps_agrees_with_an_ensemble_and_with_pinball(f: Forecast, y: float) -> None:
    levels = (np.arange(2000) + 0.5) / 2000
    members = f.quantile(levels)
    assert scoring.crps(f, y) == pytest.approx(float(scoringrules.crps_ensemble(y, members)), abs=5e-3)
    losses = [scoring.pinball(float(q), [m], [y])[0] for q, m in zip(levels[::20], members[::20], strict=True)]
    assert scoring.crps(f, y) == pytest.approx(2.0 * float(np.mean(losses)), abs=0.15)


@given(forecasts(), forecasts())
def test_crps_is_proper(truth: Forecast, other: Forecast) -> None:
    draws = truth.quantile((np.arange(500) + 0.5) / 500).tolist()
    honest = np.mean([scoring.crps(truth, y) for y in draws])
    assert honest <= np.mean([scoring.crps(other, y) for y in draws]) + 1e-3


def test_crps_of_a_point_is_the_absolute_error() -> None:
    assert scoring.crps(Forecast.from_normal(1.0, 0.0, 0.0), -0.5) == pytest.approx(1.5, abs=1e-3)


@given(st.lists(st.tuples(forecasts(), st.floats(-6.0, 6.0)), min_size=1, max_size=5))
def test_crps_each_is_crps_of_each(pairs: list[tuple[Forecast, float]]) -> None:
    fs, ys = [f for f, _ in pairs], [y for _, y in pairs]
    assert scoring.crps_each(fs, ys).tolist() == [scoring.crps(f, y) for f, y in pairs]


def test_pinball_agrees_with_scoringrules_and_is_proper() -> None:
    rng = np.random.default_rng(2)
    truth, guess = rng.normal(size=100), rng.normal(size=100)
    for level in (0.1, 0.5, 0.9):
        assert scoring.pinball(level, guess, truth) == pytest.approx(scoringrules.quantile_score(truth, guess, level))
        best = np.quantile(truth, level)
        at_best = scoring.pinball(level, np.full(100, best), truth).mean()
        for off in (-0.3, 0.3):
            assert at_best < scoring.pinball(level, np.full(100, best + off), truth).mean()


@given(forecasts())
def test_nine_outcomes_are_a_distribution_with_failure_last(f: Forecast) -> None:
    probs = scoring.outcome_probs([f])
    assert probs.shape == (1, 9)
    assert probs.sum() == pytest.approx(1.0)
    assert probs[0, scoring.FAILURE] == f.p_fail


@given(forecasts(), forecasts())
def test_combined_brier_is_proper_for_failure_and_bins_together(truth: Forecast, other: Forecast) -> None:
    p = scoring.outcome_probs([truth])[0]
    assume(np.abs(p - scoring.outcome_probs([other])[0]).max() > 0.05)
    honest = p @ scoring.outcome_half_brier([truth] * 9, np.arange(9))
    assert honest < p @ scoring.outcome_half_brier([other] * 9, np.arange(9))


def test_outcome_of_names_bins_and_failures() -> None:
    assert scoring.outcome_of([0.1, None, 1.0, 9.0]).tolist() == [0, scoring.FAILURE, 4, 7]


@pytest.mark.parametrize(
    "call",
    [
        lambda: scoring.half_brier([0.5, 0.6], [0]),
        lambda: scoring.half_brier([1.5, -0.5], [0]),
        lambda: scoring.half_brier([0.5, math.nan], [0]),
        lambda: scoring.half_brier([0.5, 0.5], [2]),
        lambda: scoring.half_brier([0.5, 0.5], [0.5]),
        lambda: scoring.half_brier([0.5, 0.5], [0, 1]),
        lambda: scoring.log_loss([0.5, 0.5], [0], floor=0.0),
        lambda: scoring.pinball(1.0, [0.0], [0.0]),
        lambda: scoring.pinball(0.5, [0.0], [0.0, 1.0]),
        lambda: scoring.failure_brier([1.1], [True]),
        lambda: scoring.failure_brier([0.1], [0.5]),
        lambda: scoring.crps(Forecast.from_normal(0, 1, 0), math.nan),
        lambda: scoring.crps(Forecast.from_normal(0, 1, 0), -math.inf),
    ],
)
def test_nonsense_raises_value_error(call) -> None:
    with pytest.raises(ValueError):
        call()
