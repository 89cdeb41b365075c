"""Several measurements of one candidate: weighted by precision, wider where they disagree, a rule for failures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.store.combine import combine, majority, pool

INTERVALS = st.tuples(st.floats(0.1, 10.0), st.floats(1.001, 2.0)).map(lambda p: (p[0], p[0] / p[1], p[0] * p[1]))


def ok(speedup: float, factor: float = 1.02, **more: bool) -> Measurement:
    return Measurement(Status.OK, speedup=speedup, low=speedup / factor, high=speedup * factor, **more)


def test_two_that_agree_are_the_inverse_variance_weighted_mean() -> None:
    pooled = pool([(2.0, 2.0 / 1.1, 2.0 * 1.1), (2.1, 2.1 / 1.1, 2.1 * 1.1)])
    assert pooled.speedup == pytest.approx(math.sqrt(2.0 * 2.1))
    assert math.log(pooled.high / pooled.low) == pytest.approx(2 * math.log(1.1) / math.sqrt(2))
    assert pooled.between_sd == 0.0


def test_two_that_disagree_widen_the_interval_over_both() -> None:
    pooled = pool([(1.0, 0.99, 1.01), (2.0, 1.98, 2.02)])
    assert pooled.speedup == pytest.approx(math.sqrt(2.0), rel=1e-3)
    assert pooled.low < 1.01 and pooled.high > 1.98
    assert pooled.between_sd == pytest.approx(math.log(2.0) / math.sqrt(2), rel=0.01)


@given(st.lists(INTERVALS, min_size=1, max_size=6))
def test_a_pooled_speedup_lies_between_those_it_was_made_of(intervals: list[tuple[float, float, float]]) -> None:
    pooled = pool(intervals)
    speedups = [speedup for speedup, _, _ in intervals]
    assert min(speedups) * 0.999 <= pooled.speedup <= max(speedups) * 1.001
    assert 0 < pooled.low < pooled.speedup < pooled.high


@given(st.lists(INTERVALS, min_size=1, max_size=6), st.randoms())
def test_the_order_makes_no_difference(intervals: list[tuple[float, float, float]], random: object) -> None:
    shuffled = list(intervals)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert pool(shuffled).speedup == pytest.approx(pool(intervals).speedup)
    assert pool(shuffled).high == pytest.approx(pool(intervals).high)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ("ok", "ok"),
        ("ok ok wrong", "ok"),
        ("wrong ok ok", "ok"),
        ("wrong ok", "wrong"),
        ("ok wrong", "wrong"),
        ("wrong wrong ok", "wrong"),
        ("crash wrong crash ok", "crash"),
        ("crash timeout ok", "timeout"),
        ("ok ok wrong crash", "crash"),
    ],
)
def test_the_majority_decides_and_a_tie_is_a_failure(statuses: str, expected: str) -> None:
    assert majority([Status(status) for status in statuses.split()]) is Status(expected)


def test_a_single_measurement_is_returned_as_it_is() -> None:
    one = ok(2.0)
    assert combine([one]) is one


def test_failures_among_successes_do_not_enter_the_speedup() -> None:
    combined = combine([ok(2.0), Measurement(Status.TIMEOUT, "slow"), ok(2.0)])
    assert combined.status is Status.OK and combined.speedup == pytest.approx(2.0)
    assert combined.conditions["combined"] == 3
    failed = combine([Measurement(Status.WRONG, "first"), ok(2.0), Measurement(Status.WRONG, "second")])
    assert (failed.status, failed.message, failed.speedup) == (Status.WRONG, "second", None)


def test_what_was_stopped_early_every_time_is_marked_so() -> None:
    assert combine([ok(0.5, stopped_early=True), ok(0.5, stopped_early=True)]).stopped_early
    assert not combine([ok(0.5, stopped_early=True), ok(0.5)]).stopped_early


def test_missing_intervals_do_not_upset_it() -> None:
    bare = Measurement(Status.OK, speedup=3.0)
    assert combine([bare, ok(2.0)]).speedup == pytest.approx(2.0)
    assert combine([bare, bare]).speedup == 3.0


def test_whether_they_disagree_is_said() -> None:
    assert combine([ok(0.91), ok(1.14)]).processes_disagree
    assert not combine([ok(0.91), ok(0.92)]).processes_disagree
