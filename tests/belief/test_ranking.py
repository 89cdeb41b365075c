import math

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

from foretell.belief import ranking

from .strategies import given

few_values = st.integers(-3, 3).map(float)
many_values = st.floats(-100.0, 100.0)
tables = st.one_of(
    st.lists(st.tuples(few_values, few_values), min_size=2, max_size=40),
    st.lists(st.tuples(many_values, many_values), min_size=2, max_size=40),
)


@given(tables)
def test_correlations_agree_with_scipy(rows: list[tuple[float, float]]) -> None:
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        assert math.isnan(ranking.spearman(x, y))
        assert math.isnan(ranking.kendall(x, y))
        return
    assert ranking.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert ranking.kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("n", [1000, 4097])
def test_kendall_agrees_with_scipy_on_large_tables(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.integers(0, 300, n).astype(float)
    y = x + rng.normal(0.0, 100.0, n).round()
    assert ranking.kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def _pairwise_brute(x: np.ndarray, y: np.ndarray, floor: float) -> float:
    credit = []
    for i in range(len(x)):
        for j in range(i):
            gap = y[i] - y[j]
            if gap != 0.0 and abs(gap) >= floor:
                credit.append(0.5 if x[i] == x[j] else float((x[i] > x[j]) == (gap > 0.0)))
    return float(np.mean(credit)) if credit else math.nan


@given(tables, st.sampled_from([0.0, 1.0, 2.5]))
def test_pairwise_accuracy_agrees_with_a_double_loop(rows: list[tuple[float, float]], floor: float) -> None:
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    assert ranking.pairwise_accuracy(x, y, floor) == pytest.approx(_pairwise_brute(x, y, floor), nan_ok=True)


def test_pairwise_accuracy_counts_across_blocks_of_rows() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(700).astype(float)
    assert ranking.pairwise_accuracy(y, y) == 1.0
    assert ranking.pairwise_accuracy(-y, y) == 0.0
    x = rng.permutation(700).astype(float)
    assert ranking.pairwise_accuracy(x, y) == pytest.approx((ranking.kendall(x, y) + 1.0) / 2.0)


def test_noise_floor_ignores_pairs_that_cannot_be_told_apart() -> None:
    predicted, measured = [1.0, 0.0, 5.0], [0.00, 0.01, 1.0]
    assert ranking.pairwise_accuracy(predicted, measured) == pytest.approx(2 / 3)
    assert ranking.pairwise_accuracy(predicted, measured, 0.05) == 1.0
    assert math.isnan(ranking.pairwise_accuracy(predicted, measured, 2.0))


@given(tables, st.floats(0.01, 1.0))
def test_recovery_is_a_share_of_the_best(rows: list[tuple[float, float]], fraction: float) -> None:
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    y = y / 20.0
    got = ranking.recovery(x, y, fraction)
    assert 0.0 < got <= 1.0
    assert got == pytest.approx(2.0 ** -ranking.regret(x, y, fraction))
    assert ranking.recovery(y, y, fraction) == 1.0
    assert ranking.recovery(x, y, 1.0) == 1.0
    order = np.random.default_rng(0).permutation(len(x))
    assert ranking.recovery(x[order], y[order], fraction) == got


def test_recovery_by_hand() -> None:
    predicted, measured = [4.0, 3.0, 2.0, 1.0], [0.0, 1.0, 2.0, -1.0]
    assert [ranking.recovery(predicted, measured, f) for f in (0.25, 0.5, 0.51, 1.0)] == [0.25, 0.5, 1.0, 1.0]
    assert ranking.regret(predicted, measured, 0.25) == 2.0
    # 7 % of 100 is 7, although 0.07 * 100 is a little more.
    climb = np.arange(100.0)
    assert ranking.regret(-climb, climb, 0.07) == 99.0 - 6.0


def test_ties_cannot_be_lucky() -> None:
    assert ranking.regret([1.0, 1.0, 1.0], [3.0, 0.0, 1.0], 0.4) == 2.0


def test_failures_are_minus_infinity() -> None:
    assert ranking.recovery([1.0, 0.0], [-math.inf, 0.0], 0.5) == 0.0
    assert ranking.regret([1.0, 0.0], [-math.inf, 0.0], 0.5) == math.inf
    assert ranking.recovery([1.0, 0.0], [0.0, -math.inf], 0.5) == 1.0
    assert math.isnan(ranking.recovery([1.0, 0.0], [-math.inf, -math.inf], 0.5))


def test_one_row_has_no_order() -> None:
    assert math.isnan(ranking.spearman([1.0], [1.0]))
    assert math.isnan(ranking.kendall([1.0], [1.0]))
    assert math.isnan(ranking.pairwise_accuracy([1.0], [1.0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda: ranking.spearman([1.0, math.nan], [1.0, 2.0]),
        lambda: ranking.kendall([1.0, 2.0], [1.0]),
        lambda: ranking.spearman([], []),
        lambda: ranking.pairwise_accuracy([1.0], [1.0], -1.0),
        lambda: ranking.pairwise_accuracy([1.0], [1.0], math.nan),
        lambda: ranking.regret([1.0], [math.inf], 0.5),
        lambda: ranking.regret([1.0], [math.nan], 0.5),
        lambda: ranking.regret([1.0, 2.0], [1.0], 0.5),
        lambda: ranking.recovery([1.0], [1.0], 0.0),
    ],
)
def test_nonsense_raises_value_error(call) -> None:
    with pytest.raises(ValueError):
        call()
