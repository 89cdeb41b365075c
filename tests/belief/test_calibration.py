import json
import math

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

from foretell.belief import calibration, scoring

from .strategies import bin_probs, given

pairs = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=60)


@given(pairs, st.integers(1, 15))
def test_reliability_counts_every_row_once(rows: list[tuple[float, bool]], n_bins: int) -> None:
    confidence, correct = zip(*rows, strict=True)
    table = calibration.reliability(confidence, correct, n_bins)
    assert len(table.count) == len(table.confidence) == len(table.accuracy) == n_bins
    assert sum(table.count) == len(rows)
    filled = [i for i, n in enumerate(table.count) if n]
    assert sum(table.count[i] * table.accuracy[i] for i in filled) == pytest.approx(sum(correct))
    assert all(i / n_bins - 1e-12 <= table.confidence[i] <= (i + 1) / n_bins + 1e-12 for i in filled)
    assert all(math.isnan(table.accuracy[i]) for i in range(n_bins) if i not in filled)
    assert 0.0 <= table.ece <= 1.0


def test_reliability_agrees_with_sklearn() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(500)
    correct = rng.random(500) < confidence**2
    table = calibration.reliability(confidence, correct, 10)
    accuracy, stated = calibration_curve(correct, confidence, n_bins=10)
    assert table.accuracy == pytest.approx(accuracy)
    assert table.confidence == pytest.approx(stated)


def test_ece_by_hand() -> None:
    assert calibration.ece([0.75] * 4, [1, 1, 1, 0]) == 0.0
    assert calibration.ece([1.0, 1.0], [0, 0]) == 1.0
    # Ten rows at 0.9 of which half are right, ten at 0.2 of which two are.
    assert calibration.ece([0.9] * 10 + [0.2] * 10, [1] * 5 + [0] * 5 + [1] * 2 + [0] * 8) == pytest.approx(0.2)


def test_top_label_and_class_wise_views() -> None:
    probs, outcome = [[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]], [0, 1]
    confidence, correct = calibration.top_label(probs, outcome)
    assert confidence.tolist() == pytest.approx([0.7, 0.4])
    assert correct.tolist() == [1.0, 0.0]
    stated, true = calibration.all_classes(probs, outcome)
    assert stated == pytest.approx(np.ravel(probs))
    assert true.tolist() == [1, 0, 0, 0, 1, 0]
    by_class = [calibration.ece(np.array(probs)[:, k], np.equal(outcome, k)) for k in range(3)]
    assert calibration.classwise_ece(probs, outcome) == pytest.approx(np.mean(by_class))


def _overconfident(sharpen: float, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(8), n)
    outcome = (rng.random((n, 1)) > np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    stated = truth**sharpen
    return truth, stated / stated.sum(axis=1, keepdims=True), outcome


@pytest.mark.parametrize("sharpen", [0.5, 1.0, 3.0])
def test_temperature_undoes_sharpening(sharpen: float) -> None:
    truth, stated, outcome = _overconfident(sharpen)
    fit = calibration.fit_temperature(stated, outcome)
    assert fit.t == pytest.approx(sharpen, rel=0.08)
    # The floor under the logarithm touches only the faintest probabilities.
    assert np.abs(fit.apply(stated) - truth).max() < 0.05
    if sharpen != 1.0:
        before = calibration.ece(*calibration.top_label(stated, outcome))
        assert calibration.ece(*calibration.top_label(fit.apply(stated), outcome)) < before / 2


def test_no_temperature_on_a_grid_beats_the_fit() -> None:
    _, stated, outcome = _overconfident(2.0, 300)
    fit = calibration.fit_temperature(stated, outcome)
    best = scoring.log_loss(fit.apply(stated), outcome, 1e-9).mean()
    for t in np.geomspace(0.06, 19.0, 60):
        other = calibration.Temperature(float(t)).apply(stated)
        assert best <= scoring.log_loss(other, outcome, 1e-9).mean() + 1e-9


@given(bin_probs(), st.floats(0.1, 10.0))
def test_temperature_keeps_order_and_sum(probs: list[float], t: float) -> None:
    cooled = calibration.Temperature(t).apply(probs)
    assert cooled.shape == (8,)
    assert cooled.sum() == pytest.approx(1.0)
    order = np.argsort(probs, kind="stable")
    assert (np.diff(cooled[order]) >= -1e-12).all()
    assert calibration.Temperature(1.0).apply(probs) == pytest.approx(probs, abs=1e-5)


points = st.lists(
    st.tuples(st.integers(0, 12).map(lambda i: i / 12), st.floats(-1.0, 1.0), st.floats(0.1, 5.0)),
    min_size=1,
    max_size=40,
)


@given(points)
def test_isotonic_agrees_with_sklearn_and_is_monotone(rows: list[tuple[float, float, float]]) -> None:
    x, y, w = (list(column) for column in zip(*rows, strict=True))
    fit = calibration.fit_isotonic(x, y, w)
    grid = np.linspace(-0.2, 1.2, 101)
    assert (np.diff(fit.apply(grid)) >= 0.0).all()
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=w).predict(grid)
    assert fit.apply(grid) == pytest.approx(theirs, abs=1e-6)


def test_isotonic_mends_a_bent_probability() -> None:
    rng = np.random.default_rng(4)
    stated = rng.random(5000)
    came = rng.random(5000) < stated**3
    fit = calibration.fit_isotonic(stated[:2500], came[:2500])
    after = calibration.ece(fit.apply(stated[2500:]), came[2500:])
    assert after < 0.05 < calibration.ece(stated[2500:], came[2500:])


def test_mends_round_trip_through_json() -> None:
    for mend in (calibration.Temperature(1.7), calibration.fit_isotonic([0.1, 0.4, 0.3, 0.9], [0, 0, 1, 1])):
        assert type(mend).from_dict(json.loads(json.dumps(mend.as_dict()))) == mend


@pytest.mark.parametrize(
    "call",
    [
        lambda: calibration.Temperature(0.0),
        lambda: calibration.Temperature(math.nan),
        lambda: calibration.Isotonic((0.0, 0.0), (0.0, 1.0)),
        lambda: calibration.Isotonic((0.0, 1.0), (1.0, 0.0)),
        lambda: calibration.Isotonic((), ()),
        lambda: calibration.reliability([0.5], [1], 0),
        lambda: calibration.reliability([1.5], [1]),
        lambda: calibration.reliability([math.nan], [1]),
        lambda: calibration.reliability([0.5, 0.5], [1]),
        lambda: calibration.fit_isotonic([0.1], [0.1], [0.0]),
    ],
)
def test_nonsense_raises_value_error(call) -> None:
    with pytest.raises(ValueError):
        call()
