from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.kernels.forecast import gaussian
from foretell.kernels.forecast.columns import Columns, FloatArray, Row
from foretell.kernels.forecast.static import describe


def _points(rng: np.random.Generator, n: int) -> gaussian.Points:
    return gaussian.Points.of(rng.standard_normal((n, 5)), np.sign(rng.standard_normal((n, 7))))


def _kernel(a: gaussian.Points, b: gaussian.Points, surface: float) -> FloatArray:
    """The formula of the module's docstring, one pair at a time."""
    found = np.zeros((len(a.features), len(b.features)))
    for i, (f, t) in enumerate(zip(a.features, a.text, strict=True)):
        for j, (g, u) in enumerate(zip(b.features, b.text, strict=True)):
            r = np.sqrt(3.0 * (((f - g) ** 2).sum() + ((t - u) ** 2).sum())) / gaussian.LENGTH
            found[i, j] = gaussian.BIAS + (1.0 - surface) * (f @ g + t @ u) / 2.0 + surface * (1.0 + r) * np.exp(-r)
    return found


@pytest.mark.parametrize("n", [1, 2, 9, 25])
def test_against_the_textbook(n: int) -> None:
    rng = np.random.default_rng(n)
    points, new = _points(rng, n), _points(rng, 4)
    values = rng.standard_normal(n)
    fit = gaussian.fit(points, values, 1.0)
    full = _kernel(points, points, fit.surface) + fit.noise * np.eye(n)
    cross, own = _kernel(new, points, fit.surface), np.diag(_kernel(new, new, fit.surface))
    mean, std = fit.predict(new)
    np.testing.assert_allclose(mean, fit.mean + cross @ np.linalg.solve(full, values - fit.mean))
    variance = own + fit.noise - np.diag(cross @ np.linalg.solve(full, cross.T))
    np.testing.assert_allclose(std**2, fit.scale * variance)


def test_errors_ahead_and_left_out_are_those_of_refitting() -> None:
    rng = np.random.default_rng(0)
    n = 12
    points, values = _points(rng, n), rng.standard_normal(n)
    fit = gaussian.fit(points, values, 1.0)
    kernel = _kernel(points, points, fit.surface) + fit.noise * np.eye(n)
    for i in range(n):
        for others, got in ((np.arange(i), None), (np.delete(np.arange(n), i), fit.left_out[i])):
            gain = np.linalg.solve(kernel[np.ix_(others, others)], kernel[others, i])
            guess = fit.mean + gain @ (values[others] - fit.mean)
            if got is not None:
                assert got == pytest.approx(guess)
            else:
                std = np.sqrt(fit.scale * (kernel[i, i] - gain @ kernel[others, i]))
                assert fit.ahead[i] == pytest.approx((values[i] - guess) / std)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_finite_for_any_values_and_for_equal_rows(values: list[float], width: int) -> None:
    points = gaussian.Points.of(np.ones((len(values), width)), np.zeros((len(values), 0)))
    mean, std = gaussian.fit(points, np.array(values), 1.0).predict(points)
    assert np.isfinite(mean).all()
    assert (std > 0.0).all()


def test_many_rows_search_the_grid_on_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "GRID_ROWS", 20)
    points = _points(np.random.default_rng(0), 60)
    line = points.features @ np.arange(5.0)
    fit = gaussian.fit(points, line, 1.0)
    assert len(fit.ahead) == 60
    np.testing.assert_allclose(fit.predict(points)[0], line, atol=0.2)


def _row(source: str, **build: float) -> Row:
    return Row(describe(source, "cpp"), build)


def test_columns_are_standardised_and_constants_left_out() -> None:
    rows = [
        _row("a + b;", loops=3.0, same=1.0),
        _row("a / b;", loops=5.0, same=1.0),
        _row("a + c;", loops=9.0, same=1.0),
    ]
    columns = Columns.fit(rows)
    assert "build.loops" in columns.names
    assert "static.divide" in columns.names
    assert "build.same" not in columns.names
    for matrix in (columns.features(rows), columns.text(rows)):
        np.testing.assert_allclose(matrix.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(matrix.std(axis=0), 1.0)


def test_shingles_that_split_alike_are_one_column() -> None:
    rows = [_row("a b c d e f;"), _row("x;"), _row("y;")]
    assert len(Columns.fit(rows).shingles) == 3


def test_missing_and_unreadable_features_count_as_the_mean() -> None:
    rows = [_row("a;", loops=1.0), _row("b;", loops=8.0), _row("c;")]
    columns = Columns.fit(rows)
    at = columns.names.index("build.loops")
    strange = [_row("a;"), _row("a;", loops=float("nan")), _row("a;", loops=float("inf")), _row("a;", unheard_of=1.0)]
    np.testing.assert_array_equal(columns.features(strange)[:, at], 0.0)
    assert np.isfinite(columns.features([_row("", loops=1e300)])).all()
    assert np.isfinite(columns.text([_row("")])).all()
