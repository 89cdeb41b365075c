import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import strategies as st

from foretell.belief import selective

from .strategies import given

rows = st.lists(st.tuples(st.integers(0, 5).map(float), st.floats(0.0, 10.0)), min_size=1, max_size=40)


def _columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [c for c, _ in pairs], [x for _, x in pairs]


@given(rows)
def test_aurc_lies_between_the_extremes_and_oracle_is_least(pairs: list[tuple[float, float]]) -> None:
    confidence, loss = _columns(pairs)
    area = selective.aurc(confidence, loss)
    assert min(loss) - 1e-9 <= area <= max(loss) + 1e-9
    oracle, worst = selective.aurc(-np.array(loss), loss), selective.aurc(loss, loss)
    assert oracle - 1e-9 <= area <= worst + 1e-9
    assert selective.excess_aurc(confidence, loss) == pytest.approx(area - oracle, abs=1e-9)
    assert selective.excess_aurc(-np.array(loss), loss) == 0.0


@given(rows, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(pairs: list[tuple[float, float]], random) -> None:
    shuffled = random.sample(pairs, len(pairs))
    for f in (selective.aurc, lambda c, x: selective.selective_risk(c, x, 0.3)):
        assert f(*_columns(pairs)) == pytest.approx(f(*_columns(shuffled)))


def test_ties_count_as_the_mean_over_all_ways_to_break_them() -> None:
    confidence, loss = np.array([2.0, 1.0, 1.0, 1.0, 0.0]), np.array([0.5, 3.0, 1.0, 0.0, 2.0])
    curves = []
    for middle in permutations([1, 2, 3]):
        order = [0, *middle, 4]
        curves.append(np.cumsum(loss[order]) / np.arange(1, 6))
    assert selective.risk_coverage(confidence, loss).risk == pytest.approx(np.mean(curves, axis=0))


def test_curve_by_hand() -> None:
    curve = selective.risk_coverage([0.9, 0.1, 0.5], [0.0, 1.0, 1.0])
    assert curve.coverage == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert curve.risk == pytest.approx([0.0, 0.5, 2 / 3])
    assert curve.threshold == (0.9, 0.5, 0.1)
    assert curve.aurc == pytest.approx(7 / 18)


@given(rows)
def test_full_coverage_has_the_mean_loss(pairs: list[tuple[float, float]]) -> None:
    confidence, loss = _columns(pairs)
    assert selective.selective_risk(confidence, loss, 1.0) == pytest.approx(np.mean(loss))


def test_selective_risk_takes_the_ceiling_and_coverage_at_risk_is_its_inverse() -> None:
    confidence, loss = np.arange(100, 0, -1.0), np.arange(100.0)
    assert selective.selective_risk(confidence, loss, 0.07) == np.mean(loss[:7])
    assert selective.selective_risk(confidence, loss, 0.071) == np.mean(loss[:8])
    assert selective.selective_risk(confidence, loss, 1e-6) == 0.0
    assert selective.coverage_at_risk(confidence, loss, 3.0) == 0.07
    assert selective.coverage_at_risk(confidence, loss, -1.0) == 0.0
    assert selective.coverage_at_risk(confidence, loss, 99.0) == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: selective.aurc([], []),
        lambda: selective.aurc([0.1, 0.2], [1.0]),
        lambda: selective.aurc([math.nan], [1.0]),
        lambda: selective.selective_risk([0.1], [1.0], 0.0),
        lambda: selective.selective_risk([0.1], [1.0], 1.1),
    ],
)
def test_nonsense_raises_value_error(call) -> None:
    with pytest.raises(ValueError):
        call()
