import json
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from foretell.belief import AdaptiveConformal, Forecast, SplitConformal, conformal_quantile, widening_needed
from foretell.belief.conformal import MAX_SCALE, MIN_SCALE

from .strategies import forecasts, given


@given(forecasts(), st.floats(-6.0, 6.0), st.floats(0.2, 0.95))
def test_the_score_is_the_widening_that_just_reaches(f: Forecast, y: float, level: float) -> None:
    score = widening_needed(f, y, level)
    assert score >= 0.0
    if 0.05 < score < 50.0:
        low, high = f.widened(score * 1.01).interval(level)
        assert low <= y <= high
        low, high = f.widened(score * 0.99).interval(level)
        assert not low <= y <= high


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=50), st.floats(0.05, 0.95))
def test_conformal_quantile_leaves_enough_below(scores: list[float], level: float) -> None:
    q = conformal_quantile(scores, level)
    needed = math.ceil((len(scores) + 1) * level - 1e-9)
    if needed > len(scores):
        assert q == math.inf
    else:
        assert q == sorted(scores)[needed - 1]
        assert sum(s <= q for s in scores) >= needed


def _pairs(rng: np.random.Generator, n: int, overconfidence: float) -> tuple[list[Forecast], np.ndarray]:
    means, stds = rng.normal(0.0, 1.0, n), rng.uniform(0.1, 1.0, n)
    fs = [Forecast.from_normal(m, s, 0.1) for m, s in zip(means, stds, strict=True)]
    return fs, means + overconfidence * stds * rng.standard_normal(n)


@pytest.mark.parametrize("overconfidence", [0.5, 1.0, 3.0])
def test_split_conformal_covers_and_finds_the_overconfidence(overconfidence: float) -> None:
    rng = np.random.default_rng(0)
    split = SplitConformal.fit(*_pairs(rng, 1000, overconfidence), level=0.8)
    assert split.scale == pytest.approx(overconfidence, rel=0.15)
    fs, ys = _pairs(rng, 2000, overconfidence)
    hits = [low <= y <= high for (low, high), y in zip(map(split.interval, fs), ys, strict=True)]
    assert np.mean(hits) == pytest.approx(0.8, abs=0.05)


def test_split_conformal_keeps_its_promise_for_few_rows() -> None:
    """Averaged over calibration sets, coverage is at least the level even with nine rows."""
    rng = np.random.default_rng(1)
    hits = []
    for _ in range(1000):
        fs, ys = _pairs(rng, 10, 2.0)
        low, high = SplitConformal.fit(fs[:9], ys[:9], 0.8).interval(fs[9])
        hits.append(low <= ys[9] <= high)
    assert 0.77 < np.mean(hits) < 0.83


def test_split_conformal_with_too_few_rows_promises_nothing() -> None:
    f = Forecast.from_normal(0.0, 1.0, 0.0)
    split = SplitConformal.fit([f] * 3, [0.1, 0.2, 0.3], 0.8)
    assert split.interval(f) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="too few"):
        split.apply(f)


@pytest.mark.parametrize("target", [0.5, 0.8, 0.9, 0.95])
def test_a_fresh_adaptive_object_trusts_the_forecast(target: float) -> None:
    assert AdaptiveConformal(target=target).scale == pytest.approx(1.0)
    assert math.isnan(AdaptiveConformal(target=target).coverage)


@pytest.mark.parametrize("target", [0.6, 0.8, 0.9])
@pytest.mark.parametrize(
    "drift",
    [
        lambda t: 1.0,
        lambda t: 4.0,
        lambda t: 0.25,
        lambda t: 0.3 + 4.0 * t,
        lambda t: 3.0 if int(t * 8) % 2 else 0.5,
    ],
    ids=["honest", "overconfident", "underconfident", "worsening", "switching"],
)
def test_adaptive_conformal_reaches_its_target_under_drift(target: float, drift) -> None:
    rng = np.random.default_rng(2)
    n, state, hits = 1500, AdaptiveConformal(target=target), []
    f = Forecast.from_normal(0.0, 0.5, 0.0)
    for t in range(n):
        y = float(0.5 * drift(t / n) * rng.standard_normal())
        low, high = state.interval(f)
        hits.append(low <= y <= high)
        state = state.update(f, y)
    assert state.coverage == pytest.approx(np.mean(hits), abs=0.002)
    assert np.mean(hits) == pytest.approx(target, abs=0.025)
    # A raw interval would be far off wherever the forecaster is not honest at all times.
    assert all(abs(np.mean(part) - target) < 0.15 for part in np.array_split(hits, 5))


def test_adaptive_conformal_beats_split_when_the_world_changes() -> None:
    rng = np.random.default_rng(3)
    before, after = _pairs(rng, 500, 1.0), _pairs(rng, 500, 3.0)
    split, state = SplitConformal.fit(*before, level=0.8), AdaptiveConformal(0.8)
    for f, y in zip(*before, strict=True):
        state = state.update(f, y)
    split_hits, seen, covered = 0, state.n_seen, state.n_covered
    for f, y in zip(*after, strict=True):
        low, high = split.interval(f)
        split_hits += low <= y <= high
        state = state.update(f, y)
    assert split_hits / 500 < 0.5
    assert (state.n_covered - covered) / (state.n_seen - seen) > 0.75


def test_adaptive_conformal_reaches_past_everything_it_has_seen() -> None:
    """Errors that only ever grow lie beyond every score in memory; a plain quantile would miss all of them."""
    state, f = AdaptiveConformal(0.8), Forecast.from_normal(0.0, 0.5, 0.0)
    for t in range(150):
        state = state.update(f, 0.5 * 1.03**t)
    assert state.coverage > 0.7


def test_adaptive_conformal_learns_within_a_short_search() -> None:
    rng = np.random.default_rng(4)
    fs, ys = _pairs(rng, 40, 3.0)
    state = AdaptiveConformal(0.8)
    for f, y in zip(fs, ys, strict=True):
        state = state.update(f, y)
    assert 2.0 < state.scale < 5.0


@given(st.lists(st.tuples(forecasts(), st.floats(-6.0, 6.0)), max_size=8), st.integers(1, 8))
def test_state_is_replayable_and_survives_json(rows: list[tuple[Forecast, float]], memory: int) -> None:
    state = AdaptiveConformal(memory=memory)
    for i, (f, y) in enumerate(rows):
        before = state
        state = state.update(f, y)
        assert before.n_seen == i  # the old state is untouched
        assert MIN_SCALE <= state.scale <= MAX_SCALE
        assert len(state.scores) <= memory
        state = AdaptiveConformal.from_dict(json.loads(json.dumps(state.as_dict())))
    replayed = AdaptiveConformal(memory=memory)
    for f, y in rows:
        replayed = replayed.update(f, y)
    assert replayed == state


def test_apply_widens_by_the_scale() -> None:
    state, f = AdaptiveConformal(), Forecast.from_normal(0.0, 0.1, 0.0)
    for _ in range(30):
        state = state.update(f, 1.0)
    assert state.scale > 5.0
    assert state.apply(f) == f.widened(state.scale)
    assert state.interval(f) == f.widened(state.scale).interval(0.8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: AdaptiveConformal(target=1.0),
        lambda: AdaptiveConformal(target=math.nan),
        lambda: AdaptiveConformal(step=0.0),
        lambda: AdaptiveConformal(memory=0),
        lambda: AdaptiveConformal().update(Forecast.from_normal(0, 1, 0), math.nan),
        lambda: conformal_quantile([], 0.8),
    ],
)
def test_nonsense_raises_value_error(call) -> None:
    with pytest.raises(ValueError):
        call()
