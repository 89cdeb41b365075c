import math

import numpy as np
import pytest
from scipy import stats

from foretell.belief import (
    Estimate,
    Forecast,
    bootstrap,
    bootstrap_all,
    cluster_bootstrap,
    crps_each,
    half_brier,
    spearman,
)


def _mean(x: np.ndarray) -> float:
    return float(np.mean(x))


def test_agrees_with_scipy_and_with_theory() -> None:
    x = np.random.default_rng(0).normal(1.0, 2.0, 200)
    ours = bootstrap(_mean, x, replicates=2000)
    theirs = stats.bootstrap((x,), np.mean, n_resamples=2000, method="percentile", rng=1).confidence_interval
    assert ours.value == x.mean()
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.06)
    assert ours.high - ours.low == pytest.approx(2 * 1.96 * x.std() / math.sqrt(200), rel=0.1)
    assert (ours.level, ours.n) == (0.95, 200)


def test_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        estimate = bootstrap(_mean, rng.normal(size=50), replicates=200, level=0.8, seed=trial)
        hits += estimate.low <= 0.0 <= estimate.high
    assert 0.70 < hits / 200 < 0.88


def test_clusters_cover_where_rows_do_not() -> None:
    """Rows of a group share an offset, so resampling rows pretends to know far more than there is to know."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 20)
    hits = {"rows": 0, "groups": 0}
    for trial in range(60):
        x = rng.normal(size=20)[groups] + 0.3 * rng.normal(size=400)
        by_row = bootstrap(_mean, x, replicates=150, level=0.9, seed=trial)
        by_group = cluster_bootstrap(_mean, x, groups=groups, replicates=150, level=0.9, seed=trial)
        assert (by_row.n, by_group.n) == (400, 20)
        hits["rows"] += by_row.low <= 0.0 <= by_row.high
        hits["groups"] += by_group.low <= 0.0 <= by_group.high
    assert hits["rows"] / 60 < 0.55
    assert hits["groups"] / 60 > 0.75


def test_groups_are_drawn_whole_and_may_have_names() -> None:
    x, groups = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), ["softmax", "gelu", "softmax", "gelu", "gelu"]
    seen = []
    cluster_bootstrap(lambda v: float(seen.append(tuple(v)) or 0.0), x, groups=groups, replicates=50)
    soft, gelu = (1.0, 3.0), (2.0, 4.0, 5.0)
    assert set(seen[:-1]) == {soft + soft, soft + gelu, gelu + soft, gelu + gelu}
    assert seen[-1] == tuple(x)


def test_same_seed_same_interval() -> None:
    x = np.random.default_rng(3).normal(size=30)
    assert bootstrap(_mean, x, replicates=100) == bootstrap(_mean, x, replicates=100)
    assert bootstrap(_mean, x, replicates=100) != bootstrap(_mean, x, replicates=100, seed=1)


def test_all_metrics_share_their_resamples() -> None:
    x, y = np.random.default_rng(4).normal(size=(2, 60))
    named = {"spearman": spearman, "first": lambda a, b: _mean(a), "shifted": lambda a, b: _mean(a) + 1.0}
    found = bootstrap_all(named, x, y, replicates=100)
    assert list(found) == list(named)
    assert found["spearman"] == bootstrap(spearman, x, y, replicates=100)
    assert found["shifted"].low == pytest.approx(found["first"].low + 1.0)
    grouped = bootstrap_all(named, x, y, groups=np.arange(60) // 6, replicates=100)
    assert grouped["first"].n == 10


def test_columns_may_be_forecasts_or_matrices() -> None:
    fs = [Forecast.from_normal(m, 0.5, 0.1) for m in np.linspace(-1.0, 1.0, 12)]
    y = np.linspace(-1.0, 1.0, 12)
    estimate = bootstrap(lambda f, t: float(crps_each(f, t).mean()), fs, y, replicates=50)
    assert estimate.value == pytest.approx(crps_each(fs, y).mean())
    probs, outcome = np.full((12, 8), 1 / 8), np.arange(12) % 8
    flat = bootstrap(lambda p, k: float(half_brier(p, k).mean()), probs, outcome, replicates=50)
    assert flat.low == pytest.approx(flat.value) == pytest.approx(flat.high)


def test_replicates_without_an_answer_are_left_out_or_spoil_the_interval() -> None:
    rare = np.array([0.0] * 5 + [1.0] * 5)
    assert math.isfinite(bootstrap(spearman, rare, np.arange(10.0), replicates=100).low)
    undefined = bootstrap(lambda x: math.nan, rare, replicates=20)
    assert math.isnan(undefined.value)
    assert math.isnan(undefined.low)
    endless = bootstrap(lambda x: math.inf if x.sum() > 4 else 0.0, rare, replicates=100)
    assert endless.high == math.inf


def test_estimate_reads_well() -> None:
    assert str(Estimate(0.51234, 0.4, 0.6, 0.95, 10)) == "0.512 [0.4, 0.6]"


@pytest.mark.parametrize(
    "call",
    [
        lambda: bootstrap(_mean, []),
        lambda: bootstrap(_mean),
        lambda: bootstrap(spearman, [1.0, 2.0], [1.0]),
        lambda: bootstrap(_mean, [1.0], level=1.0),
        lambda: bootstrap(_mean, [1.0], replicates=0),
        lambda: cluster_bootstrap(_mean, [1.0, 2.0], groups=["a"]),
    ],
)
def test_nonsense_raises_value_error(call) -> None:
    with pytest.raises(ValueError):
        call()
