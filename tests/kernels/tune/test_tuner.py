from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from foretell.kernels.tune import surrogate
from foretell.kernels.tune.encode import encode
from foretell.kernels.tune.tuner import Exhausted, Tuner, _expected_improvement

PARAMETERS = {
    "block_size_x": (16, 32, 48, 64, 96, 128, 192, 256),
    "block_size_y": (1, 2, 4, 8),
    "tile": (1, 2, 3, 4),
    "stride": (0, 1),
    "layout": ("row", "column", "tiled"),
    "fixed": (7,),
}
CODES = np.array(list(itertools.product(*(range(len(v)) for v in PARAMETERS.values()))))


def time_of(row: int, shift: float = 0.0) -> float | None:
    """Smooth in threads and tile, bad where block_size_x is not round; too many threads fail."""
    x, y, tile, stride, layout, _ = (v[c] for v, c in zip(PARAMETERS.values(), CODES[row], strict=True))
    if x * y > 1024:
        return None
    threads = abs(math.log2(x * y) - 7.0 - shift)
    slow = {"row": 0.0, "column": 1.0, "tiled": 0.5}[layout]
    return 2.0 ** (threads + 0.4 * abs(tile - 3 - shift) + 0.3 * stride + slow + (x % 32 != 0))


TIMES = [time_of(row) for row in range(len(CODES))]
BEST = min(t for t in TIMES if t is not None)


def needed(tuner: Tuner, most: int = 60) -> int:
    """Evaluations until within 5 % of the best."""
    for count in range(1, most + 1):
        row = tuner.ask()
        tuner.tell(row, TIMES[row])
        time = TIMES[row]
        if time is not None and time <= 1.05 * BEST:
            return count
    return most + 1


def test_it_needs_far_fewer_than_chance_does() -> None:
    share = np.mean([t is not None and t <= 1.05 * BEST for t in TIMES])
    counts = [needed(Tuner(PARAMETERS, CODES, seed)) for seed in range(5)]
    assert np.median(counts) < 0.3 * math.log(2) / share


def test_times_from_elsewhere_help() -> None:
    elsewhere = np.array([time_of(row, shift=0.3) or math.nan for row in range(len(CODES))])
    assert needed(Tuner(PARAMETERS, CODES, 0, np.log2(elsewhere))) <= 5


def test_times_from_elsewhere_that_mislead_are_left_behind() -> None:
    elsewhere = np.log2(np.array([1.0 / t if t else math.nan for t in TIMES]))
    assert needed(Tuner(PARAMETERS, CODES, 0, elsewhere)) <= 60


def test_it_repeats_itself_with_the_same_seed_only() -> None:
    def asked(seed: int) -> list[int]:
        tuner = Tuner(PARAMETERS, CODES, seed)
        rows = []
        for _ in range(15):
            rows.append(tuner.ask())
            tuner.tell(rows[-1], TIMES[rows[-1]])
        return rows

    assert asked(0) == asked(0) != asked(1)


def test_every_row_is_asked_once_and_then_no_more() -> None:
    few = CODES[::37]
    tuner = Tuner(PARAMETERS, few, 0)
    rows = []
    for _ in range(len(few)):
        rows.append(tuner.ask())
        tuner.tell(rows[-1], None if len(rows) % 3 else 1.0 + len(rows))
    assert sorted(rows) == list(range(len(few)))
    assert tuner.best == rows[2]
    with pytest.raises(Exhausted):
        tuner.ask()


def test_it_keeps_asking_while_everything_fails() -> None:
    tuner = Tuner(PARAMETERS, CODES, 0)
    for _ in range(20):
        tuner.tell(tuner.ask(), None)
    assert tuner.best is None


def test_it_turns_away_from_failures() -> None:
    tuner = Tuner(PARAMETERS, CODES, 0)
    rng = np.random.default_rng(0)
    for row in rng.permutation(len(CODES))[:60].tolist():
        tuner.tell(row, 1.0 if CODES[row, 3] else None)
    assert CODES[tuner.ask(), 3] == 1


@pytest.mark.parametrize("time", [0.0, -1.0, math.inf, math.nan])
def test_a_time_that_cannot_be_is_refused(time: float) -> None:
    with pytest.raises(ValueError, match="above zero"):
        Tuner(PARAMETERS, CODES, 0).tell(0, time)


def test_points_are_within_bounds_and_tell_all_rows_apart() -> None:
    points = encode(PARAMETERS, CODES)
    assert points.features.min() == 0.0 and points.features.max() == 1.0
    assert len(np.unique(points.features, axis=0)) == len(CODES)


def test_round_numbers_are_known_for_what_they_are() -> None:
    values = (24, 32, 48, 64, 96, 128)
    points = encode({"n": values}, np.arange(6)[:, None])
    assert np.argmax(points.roundness) in (1, 3, 5) and np.argmin(points.roundness) == 0
    assert points.roundness[3] > points.roundness[4] > points.roundness[2]


def test_a_space_of_one_configuration_has_nothing_to_tell() -> None:
    tuner = Tuner({"n": (4,)}, np.zeros((1, 1), dtype=np.int64))
    assert tuner.ask() == 0


def test_the_process_goes_through_what_it_saw_and_is_unsure_elsewhere() -> None:
    points = encode(PARAMETERS, CODES)
    rows = np.arange(0, len(CODES), 29)
    values = np.array([math.log2(TIMES[r] or 64.0) for r in rows])
    fit = surrogate.fit(points[rows], values, float(values.mean()), float(values.std()))
    mean, std = fit.predict(points[rows])
    assert np.abs(mean - values).max() < 0.3
    assert std.mean() < fit.predict(points[rows + 1])[1].mean()


def test_expected_improvement_is_that_of_a_normal() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.normal(1.0, 0.5, 400_000)
    told = _expected_improvement(np.array([1.0]), np.array([0.5]), 0.7)[0]
    assert told == pytest.approx(np.maximum(0.7 - drawn, 0.0).mean(), rel=0.02)
    far = _expected_improvement(np.array([9.0, 10.0]), np.array([1.0, 1.0]), 0.0)
    assert far[0] > far[1] > 0.0
