from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.belief import Forecast
from foretell.report.calibration import LEVELS, Judged, binomial_range, calibrate, coverages


def test_a_perfect_forecaster_stays_within_the_band() -> None:
    for n in (5, 25, 400):
        for c in coverages([(i + 0.5) / n for i in range(n)]):
            assert c.luck_low <= c.kept <= c.luck_high


def test_one_that_is_too_sure_falls_below_it() -> None:
    pit = [0.001, 0.999] * 20
    assert all(c.kept < c.luck_low for c in coverages(pit))


@given(st.integers(1, 200), st.sampled_from(LEVELS))
def test_the_band_holds_its_mass_and_no_more_than_it_must(n: int, p: float) -> None:
    low, high = binomial_range(n, p)
    terms = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    assert 0 <= low <= high <= n
    assert sum(terms[low : high + 1]) >= 0.95 - 1e-9
    assert sum(terms[:low]) <= 0.025 + 1e-9
    assert sum(terms[high + 1 :]) <= 0.025 + 1e-9


def test_failures_and_speedups_are_counted_apart() -> None:
    sure = Forecast.from_normal(1.0, 0.1, 0.25)
    result = calibrate([Judged(sure, 2.0, False), Judged(sure, 4.0, True), Judged(sure, None, False)])
    assert (result.n, result.n_speedups) == (3, 2)
    assert [pair.covered for pair in result.pairs] == [True, False]
    assert result.kept_80 == 0.5
    assert (result.failures_seen, result.failures_expected) == (1, 0.75)
    assert result.bias_log2 == pytest.approx(0.5)


def test_nothing_to_judge_is_not_an_error() -> None:
    result = calibrate([])
    assert (result.n, result.ece, result.kept_80, result.coverages) == (0, None, None, ())
