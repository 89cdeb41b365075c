import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from foretell.belief import EDGES_LOG2, N_BINS, Forecast
from foretell.belief.forecast import MAX_KNOTS, MIN_GAP

from .strategies import bin_probs, forecasts, given, unit

speedups = st.floats(-6.0, 6.0).map(lambda x: 2.0**x)
means = st.floats(-3.0, 3.0)
stds = st.floats(0.01, 3.0)


@given(forecasts())
def test_cdf_rises_from_zero_to_one(f: Forecast) -> None:
    grid = np.linspace(f.knots[0] - 1.0, f.knots[-1] + 1.0, 200)
    levels = np.array([f.cdf(x) for x in grid.tolist()])
    assert (np.diff(levels) >= -1e-12).all()
    assert levels[0] == 0.0
    assert levels[-1] == 1.0
    assert f.cdf(grid) == pytest.approx(levels)


@given(forecasts(), unit)
def test_quantile_inverts_cdf(f: Forecast, q: float) -> None:
    x = f.quantile(q)
    assert f.knots[0] <= x <= f.knots[-1]
    assert f.cdf(x) == pytest.approx(q, abs=1e-9)
    assert f.quantile(np.array([q]))[0] == pytest.approx(x)
    # The least such x: just below it the CDF has not reached q yet.
    if q > 0.0:
        assert f.cdf(x - 1e-4) < q


def test_quantile_on_a_flat_stretch_is_its_lower_end() -> None:
    f = Forecast(0.0, (0.0, 1.0, 2.0, 3.0), (0.0, 0.5, 0.5, 1.0))
    assert f.quantile(0.5) == f.median == 1.0
    assert f.quantile(np.array([0.5, 0.75])).tolist() == [1.0, 2.5]


@given(forecasts())
def test_ends_are_the_ends_of_the_support(f: Forecast) -> None:
    assert f.quantile(0.0) == f.knots[0]
    assert f.quantile(1.0) == pytest.approx(f.knots[-1])
    assert f.cdf(f.knots[0] + 5e-4) > 0.0
    assert f.cdf(f.knots[-1] - 5e-4) < 1.0


@given(forecasts())
def test_bins_are_a_distribution(f: Forecast) -> None:
    bins = f.bins()
    assert len(bins) == N_BINS
    assert min(bins) >= 0.0
    assert sum(bins) == pytest.approx(1.0)
    assert np.cumsum(bins)[:-1] == pytest.approx([f.cdf(edge) for edge in EDGES_LOG2])


@given(bin_probs(), unit)
def test_bins_come_back_from_bins(probs: list[float], p_fail: float) -> None:
    f = Forecast.from_bins(probs, p_fail)
    assert f.bins() == pytest.approx(probs)
    assert f.p_fail == p_fail


@given(forecasts(), bin_probs(), unit)
def test_other_bins_keep_the_shape_within_each(f: Forecast, probs: list[float], p_fail: float) -> None:
    g = f.with_bins(probs, p_fail)
    assert g.p_fail == p_fail
    assert np.allclose(g.bins(), probs, atol=2e-3)
    for i, (own, low, high) in enumerate(zip(f.bins(), (-math.inf, *EDGES_LOG2), (*EDGES_LOG2, math.inf), strict=True)):
        if own < 0.01 or probs[i] < 0.01:
            continue
        inside = np.array([x for x in np.linspace(f.knots[0], f.knots[-1], 40) if low < x < high])
        if inside.size and min(np.diff(g.knots)) > 10 * MIN_GAP:
            before_f = f.cdf(low) if math.isfinite(low) else 0.0
            before_g = g.cdf(low) if math.isfinite(low) else 0.0
            assert np.allclose((f.cdf(inside) - before_f) / own, (g.cdf(inside) - before_g) / probs[i], atol=2e-2)


@given(forecasts())
def test_its_own_bins_change_nothing_that_matters(f: Forecast) -> None:
    again = f.with_bins(f.bins(), f.p_fail)
    assert np.allclose(again.cdf(np.array(f.knots)), f.levels, atol=2e-3)


def test_bins_that_a_forecast_rules_out_are_filled_evenly() -> None:
    f = Forecast.from_normal(0.25, 0.01, 0.1)
    probs = [0.0] * N_BINS
    probs[4], probs[6] = 0.5, 0.5
    g = f.with_bins(probs, 0.2)
    assert g.quantile(0.25) == pytest.approx(0.25, abs=0.01)
    assert g.quantile(0.75) == pytest.approx(1.5)


@given(forecasts(), speedups, st.integers(0, 100))
def test_reads_agree_with_monte_carlo(f: Forecast, speedup: float, seed: int) -> None:
    n = 20_000
    rng = np.random.default_rng(seed)
    draws = f.quantile(rng.random(n))
    works = rng.random(n) >= f.p_fail
    slack = 6.0 / math.sqrt(n)
    assert f.prob_above(speedup) == pytest.approx((works & (draws > math.log2(speedup))).mean(), abs=slack)
    assert f.mean == pytest.approx(draws.mean(), abs=slack * f.std + 1e-9)
    gain = np.where(works, np.maximum(0.0, draws - math.log2(speedup)), 0.0)
    assert f.expected_improvement(speedup) == pytest.approx(gain.mean(), abs=slack * gain.std() + 1e-3)


@given(forecasts(), speedups)
def test_expected_improvement_is_the_integral_of_the_survival_function(f: Forecast, speedup: float) -> None:
    start = math.log2(speedup)
    stops = [start, *[x for x in f.knots if x > start]]
    total = sum(quad(lambda x: 1.0 - f.cdf(x), a, b)[0] for a, b in pairwise(stops))
    assert f.expected_improvement(speedup) == pytest.approx((1.0 - f.p_fail) * total, abs=1e-9)


@given(forecasts())
def test_mean_and_std_are_the_integrals(f: Forecast) -> None:
    q = (np.arange(40_000) + 0.5) / 40_000
    draws = f.quantile(q)
    assert f.mean == pytest.approx(draws.mean(), abs=1e-3)
    assert f.std == pytest.approx(draws.std(), abs=2e-3)


@given(means, stds)
def test_normal_is_close_to_the_normal(mean: float, std: float) -> None:
    f, exact = Forecast.from_normal(mean, std, 0.25), stats.norm(mean, std)
    assert len(f.knots) <= 17
    assert (f.mean, f.median, f.std) == pytest.approx((mean, mean, std), abs=1e-9)
    grid = np.linspace(mean - 5 * std, mean + 5 * std, 500)
    assert np.abs(f.cdf(grid) - exact.cdf(grid)).max() < 0.0035
    for z in (-1.0, 0.0, 1.0):
        expected = std * (stats.norm.pdf(z) - z * stats.norm.sf(z))
        assert f.expected_improvement(2.0 ** (mean + z * std)) == pytest.approx(0.75 * expected, rel=0.01)
    assert f.interval(0.8) == pytest.approx(exact.interval(0.8), abs=0.01 * std)


def test_normal_without_spread_is_nearly_a_point() -> None:
    f = Forecast.from_normal(1.0, 0.0, 0.0)
    assert f.std < 0.001
    assert f.prob_above(1.99) == 1.0
    assert f.prob_above(2.01) == 0.0


@given(means, stds)
def test_quantiles_come_back_and_tails_are_those_of_a_normal(mean: float, std: float) -> None:
    levels = [0.1, 0.5, 0.9]
    values = [float(v) for v in stats.norm(mean, std).ppf(levels)]
    f = Forecast.from_quantiles(levels, values, 0.1)
    assert [f.quantile(q) for q in levels] == pytest.approx(values)
    assert f.std == pytest.approx(std, rel=0.02)
    gain = 0.9 * std * (stats.norm.pdf(1.0) - stats.norm.sf(1.0))
    assert f.expected_improvement(2.0 ** (mean + std)) == pytest.approx(gain, rel=0.05)


def test_quantiles_may_tie_and_may_name_the_ends() -> None:
    tied = Forecast.from_quantiles([0.1, 0.5, 0.9], [1.0, 1.0, 2.0], 0.0)
    assert tied.median == pytest.approx(1.0, abs=1e-5)
    assert tied.cdf(1.001) > 0.5
    whole = Forecast.from_quantiles([0.0, 1.0], [0.0, 1.0], 0.0)
    assert whole.knots == (0.0, 1.0)
    assert whole.mean == 0.5


@given(st.lists(st.floats(-4.0, 4.0), min_size=1, max_size=12), st.floats(0.01, 1.0))
def test_few_samples_are_kept_exactly(samples: list[float], width: float) -> None:
    f = Forecast.from_samples(samples, 0.2, width)
    assert f.mean == pytest.approx(np.mean(samples), abs=1e-4)
    assert f.std == pytest.approx(math.sqrt(np.var(samples) + width**2), abs=1e-3)


def test_many_samples_find_their_distribution() -> None:
    draws = np.random.default_rng(0).normal(0.5, 0.8, 5000)
    f = Forecast.from_samples(draws, 0.0)
    assert len(f.knots) <= 33
    assert f.mean == pytest.approx(0.5, abs=0.05)
    assert f.std == pytest.approx(0.8, rel=0.05)
    grid = np.linspace(-3.0, 4.0, 200)
    assert np.abs(f.cdf(grid) - stats.norm(0.5, 0.8).cdf(grid)).max() < 0.03


@given(st.lists(st.tuples(forecasts(), st.floats(0.0, 5.0)), min_size=1, max_size=5))
def test_mixture_is_a_linear_pool(parts: list[tuple[Forecast, float]]) -> None:
    members, weights = [f for f, _ in parts], [w for _, w in parts]
    if sum(weights) == 0.0 or sum(w * (1 - f.p_fail) for f, w in parts) < 1e-6:
        return
    pool = Forecast.mixture(members, weights)
    assert pool.p_fail == pytest.approx(np.average([f.p_fail for f in members], weights=weights))
    given_success = [w * (1.0 - f.p_fail) for f, w in parts]
    assert pool.mean == pytest.approx(np.average([f.mean for f in members], weights=given_success), abs=1e-4)
    for s in (0.5, 1.0, 1.7):
        expected = np.average([f.prob_above(s) for f in members], weights=weights)
        assert pool.prob_above(s) == pytest.approx(expected, abs=2e-3)


def test_mixture_of_many_stays_small_and_close() -> None:
    rng = np.random.default_rng(1)
    members = [Forecast.from_normal(m, 0.3, 0.1) for m in rng.normal(0.0, 1.0, 60)]
    pool = Forecast.mixture(members)
    assert len(pool.knots) <= MAX_KNOTS
    assert pool.mean == pytest.approx(np.mean([f.mean for f in members]), abs=5e-3)
    assert pool.prob_above(1.3) == pytest.approx(np.mean([f.prob_above(1.3) for f in members]), abs=5e-3)


def test_mixture_of_certain_failures_still_has_a_shape() -> None:
    f = Forecast.from_normal(1.0, 0.5, 1.0)
    assert Forecast.mixture([f, f.shifted(1.0)]).mean == pytest.approx(1.5)


@given(forecasts(), st.floats(0.05, 20.0), st.floats(-3.0, 3.0))
def test_widened_and_shifted_move_what_they_say(f: Forecast, scale: float, delta: float) -> None:
    wide, moved = f.widened(scale), f.shifted(delta)
    assert wide.median == pytest.approx(f.median)
    assert wide.std == pytest.approx(f.std * scale, rel=1e-4)
    assert moved.mean == pytest.approx(f.mean + delta)
    assert moved.std == pytest.approx(f.std)
    assert wide.p_fail == moved.p_fail == f.p_fail


def test_knots_too_close_for_arithmetic_survive_it() -> None:
    near = [Forecast.from_normal(0.1 + 0.2, 0.5, 0.0), Forecast.from_normal(0.3, 0.5, 0.0)]
    pool = Forecast.mixture(near).widened(0.01).shifted(100.0)
    assert min(np.diff(pool.knots)) >= MIN_GAP * 0.99
    assert pool.mean == pytest.approx(100.3, abs=1e-3)


@given(forecasts())
def test_dict_round_trip_is_exact(f: Forecast) -> None:
    again = Forecast.from_dict(json.loads(json.dumps(f.as_dict())))
    assert again == f
    assert hash(again) == hash(f)


def test_numpy_scalars_become_plain_floats() -> None:
    f = Forecast(np.float64(0.5), (np.float64(0), np.float64(1)), (np.float64(0), np.float64(1)))
    assert all(type(value) is float for value in (f.p_fail, *f.knots, *f.levels))


@given(forecasts(), st.floats(0.01, 0.99))
def test_interval_is_central(f: Forecast, level: float) -> None:
    low, high = f.interval(level)
    assert f.cdf(low) == pytest.approx(1.0 - f.cdf(high))
    assert f.cdf(high) - f.cdf(low) == pytest.approx(level)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((-0.1, (0, 1), (0, 1)), "p_fail"),
        ((1.1, (0, 1), (0, 1)), "p_fail"),
        ((NAN, (0, 1), (0, 1)), "p_fail"),
        ((0.1, (0,), (0,)), "two or more"),
        ((0.1, (0, 1, 2), (0, 1)), "two or more"),
        ((0.1, (1, 0), (0, 1)), "strictly increase"),
        ((0.1, (0, 0), (0, 1)), "strictly increase"),
        ((0.1, (0, NAN), (0, 1)), "strictly increase"),
        ((0.1, (0, INF), (0, 1)), "beyond"),
        ((0.1, (0, 1, 2), (0, 1.2, 1)), "never decrease"),
        ((0.1, (0, 1, 2), (0, NAN, 1)), "never decrease"),
        ((0.1, (0, 1), (0, 0.9)), "from 0 to 1"),
        ((0.1, (0, 1), (0.1, 1)), "from 0 to 1"),
    ],
)
def test_a_bad_forecast_is_refused(args, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Forecast(*args)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Forecast.from_bins([0.5, 0.5], 0.0),
        lambda: Forecast.from_bins([1.2, -0.2, 0, 0, 0, 0, 0, 0], 0.0),
        lambda: Forecast.from_bins([NAN] * 8, 0.0),
        lambda: Forecast.from_bins([0.1] * 8, 0.0),
        lambda: Forecast.from_quantiles([0.5], [1.0], 0.0),
        lambda: Forecast.from_quantiles([0.9, 0.1], [0.0, 1.0], 0.0),
        lambda: Forecast.from_quantiles([0.1, 0.9], [1.0, 0.0], 0.0),
        lambda: Forecast.from_quantiles([0.1, 0.9], [0.0, NAN], 0.0),
        lambda: Forecast.from_quantiles([0.1, 0.9], [0.0, INF], 0.0),
        lambda: Forecast.from_normal(NAN, 1.0, 0.0),
        lambda: Forecast.from_normal(0.0, -1.0, 0.0),
        lambda: Forecast.from_normal(0.0, INF, 0.0),
        lambda: Forecast.from_samples([], 0.0),
        lambda: Forecast.from_samples([0.0, NAN], 0.0),
        lambda: Forecast.from_samples([0.0, 1.0], 0.0, width=0.0),
        lambda: Forecast.mixture([], []),
        lambda: Forecast.mixture([Forecast.from_normal(0, 1, 0)], [0.0]),
        lambda: Forecast.mixture([Forecast.from_normal(0, 1, 0)], [NAN]),
        lambda: Forecast.mixture([Forecast.from_normal(0, 1, 0)], [1.0, 2.0]),
        lambda: Forecast.from_normal(0, 1, 0).widened(0.0),
        lambda: Forecast.from_normal(0, 1, 0).shifted(NAN),
        lambda: Forecast.from_normal(0, 1, 0).quantile(1.1),
        lambda: Forecast.from_normal(0, 1, 0).quantile(np.array([0.1, NAN])),
        lambda: Forecast.from_normal(0, 1, 0).cdf(NAN),
        lambda: Forecast.from_normal(0, 1, 0).interval(1.0),
        lambda: Forecast.from_normal(0, 1, 0).prob_above(0.0),
        lambda: Forecast.from_normal(0, 1, 0).expected_improvement(NAN),
    ],
)
def test_nonsense_raises_value_error(make) -> None:
    with pytest.raises(ValueError):
        make()
