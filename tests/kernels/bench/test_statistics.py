"""Paired statistics: right on known ratios, honest about doubt, deaf to drift that hits both sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.bench.statistics import combine, log_ratio, ranks_below, surely_below, tight_enough, timing

times = st.lists(st.floats(1, 1e6), min_size=3, max_size=30)


@given(times, st.floats(0.1, 10))
def test_an_exact_ratio_is_found_whatever_the_drift(reference: list[float], ratio: float) -> None:
    candidate = [value / ratio for value in reference]
    result = timing("w", reference, candidate)
    assert result.speedup == pytest.approx(ratio, rel=1e-6)
    assert result.low < result.speedup < result.high


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(500):
        drift = np.exp(rng.normal(0, 0.5, 12))
        reference = 100 * drift * np.exp(rng.normal(0, 0.03, 12))
        candidate = 50 * drift * np.exp(rng.normal(0, 0.03, 12))
        result = timing("w", list(reference), list(candidate))
        covered += result.low <= 2.0 <= result.high
    assert 0.90 <= covered / 500 <= 1.0


def test_outliers_do_not_move_the_median() -> None:
    reference = [100.0] * 9
    candidate = [50.0] * 7 + [5000.0] * 2
    assert timing("w", reference, candidate).speedup == pytest.approx(2.0)


def test_combination_is_a_geometric_mean_with_a_narrower_interval() -> None:
    rng = np.random.default_rng(1)
    parts = [
        timing(str(k), list(100 * np.exp(rng.normal(0, 0.05, 9))), list(100 / s * np.exp(rng.normal(0, 0.05, 9))))
        for k, s in enumerate((1.0, 4.0))
    ]
    speedup, low, high = combine(parts)
    assert speedup == pytest.approx((parts[0].speedup * parts[1].speedup) ** 0.5, rel=1e-4)
    assert np.log(high / low) < max(np.log(p.high / p.low) for p in parts)


def test_stop_rules() -> None:
    steady, noisy = [100.0] * 5, [60.0, 100.0, 150.0, 80.0, 120.0]
    assert tight_enough(steady, steady, 0.02)
    assert not tight_enough(steady, noisy, 0.02)
    assert surely_below(steady, [300.0] * 5, 0.5)
    assert not surely_below(steady, [110.0] * 5, 1.0)
    assert log_ratio(steady, steady)[1] > 0


def test_noise_alone_does_not_rank_one_sample_below_another() -> None:
    """Three in four of twelve below three in four of twelve, the rule before, is so for one pair in 50."""
    rng = np.random.default_rng(11)
    for _ in range(500):
        one, other = np.exp(rng.normal(0, 0.5, (2, 32)) + 3 * (rng.random((2, 32)) < 0.1))
        assert not ranks_below(one, other)
        assert ranks_below(one / 20, other)
    assert not ranks_below([1.0] * 32, [1.0] * 32)
    assert not ranks_below([1.0, 1.1, 1.2], [5.0, 6.0, 7.0])  # so few prove nothing
