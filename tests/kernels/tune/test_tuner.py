from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from foretell.kernels.tune import surrogate
from foretell.kernels.tune.encode import encode
from foretell.kernels.tune.tuner import Exhausted, Tuner, _log_expected_improvement

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
    assert len(np.unique(np.column_stack([points.features, points.words]), axis=0)) == len(CODES)


def test_texts_are_compared_as_if_each_had_a_column() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (40, 3))
    points = encode(dict.fromkeys("abc", ("u", "v", "w", "x", "y")), codes)
    columns = np.eye(5)[codes].reshape(40, 15)
    assert points.width == 15 and points.features.shape[1] == points.basis.shape[1] == 0
    assert points.variances() == pytest.approx((columns**2).sum(axis=1))
    assert points.covariances(7) == pytest.approx(columns @ columns[7])
    assert points.squared_distances(7) == pytest.approx(((columns - columns[7]) ** 2).sum(axis=1))
    between = ((columns[:3, None] - columns[None, 5:9]) ** 2).sum(axis=2)
    assert points.squared_between(np.arange(3), np.arange(5, 9)) == pytest.approx(between)


def test_round_numbers_are_known_for_what_they_are() -> None:
    values = (24, 32, 48, 64, 96, 128)
    alone = encode({"n": values}, np.arange(6)[:, None]).roundness
    assert alone == pytest.approx(np.array([0, 1, 0, 1, 0, 1]) / 3)
    four = encode(dict.fromkeys("abcd", values), np.repeat(np.arange(6)[:, None], 4, axis=1)).roundness
    assert four == pytest.approx(3 * alone)


def test_size_is_not_taken_for_roundness() -> None:
    assert not encode({"n": (1, 2, 4, 8, 16)}, np.arange(5)[:, None]).roundness.any()


def test_powers_of_two_are_tried_first_and_left_where_they_are_slow() -> None:
    values = tuple(range(1, 65))
    codes = np.arange(64)[:, None]
    tuner = Tuner({"n": values}, codes, 0)
    rows = []
    for _ in range(40):
        rows.append(tuner.ask())
        tuner.tell(rows[-1], 1.0 + 0.1 * abs(values[rows[-1]] - 43))
    assert sum(math.log2(values[row]).is_integer() for row in rows[:8]) >= 3
    assert tuner.best == 42


def test_a_space_of_one_configuration_has_nothing_to_tell() -> None:
    tuner = Tuner({"n": (4,)}, np.zeros((1, 1), dtype=np.int64))
    assert tuner.ask() == 0


def test_the_process_goes_through_what_it_saw_and_is_unsure_elsewhere() -> None:
    rows = np.arange(0, len(CODES), 29)
    values = np.array([math.log2(TIMES[r] or 64.0) for r in rows])
    process = surrogate.Process(encode(PARAMETERS, CODES))
    for row in rows.tolist():
        process.see(row)
    mean, std = process.predict(values, float(values.mean()), float(values.std()))
    assert np.abs(mean[rows] - values).max() < 0.3
    assert std[rows].mean() < std[rows + 1].mean()


def test_the_process_is_the_one_its_kernel_defines() -> None:
    points = encode(PARAMETERS, CODES)
    rows = np.arange(0, len(CODES), 40)
    values = np.sin(rows)
    process = surrogate.Process(points)
    for row in rows.tolist():
        process.see(row)
    cross = np.array([process._covariance(row) for row in rows.tolist()])
    inverse = np.linalg.inv(cross[:, rows] + surrogate.NOISE * np.eye(len(rows)))
    mean, std = process.predict(values, 0.1, 1.0)
    assert mean == pytest.approx(0.1 + cross.T @ inverse @ (values - 0.1), abs=1e-3)
    own = np.array([process._covariance(row)[row] for row in range(len(CODES))])
    left = own - np.einsum("ij,ik,kj->j", cross, inverse, cross)
    ratio = (std**2 / left)[left > 0.05]
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]), rel=1e-3)


def test_a_row_told_again_counts_with_its_last_time() -> None:
    tuner = Tuner(PARAMETERS, CODES, 0)
    for row in range(0, 400, 20):
        tuner.tell(row, None if row == 40 else 2.0)
    tuner.ask()
    tuner.tell(40, 1.0)
    tuner.ask()
    assert tuner.best == 40


def test_expected_improvement_is_that_of_a_normal() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.normal(1.0, 0.5, 400_000)
    told = np.exp(_log_expected_improvement(np.array([1.0]), np.array([0.5]), 0.7)[0])
    assert told == pytest.approx(np.maximum(0.7 - drawn, 0.0).mean(), rel=0.02)
    means = np.array([-50.0, -10.1, -9.9, 9.0, 10.0, 19.99, 20.01, 60.0])
    far = _log_expected_improvement(means, np.ones(len(means)), 0.0)
    assert (np.diff(far) < 0.0).all()
    assert far[:3] == pytest.approx(np.log(-means[:3]), abs=1e-6)
    assert far[5] - far[6] == pytest.approx(0.02 * 20.1, abs=0.02)
