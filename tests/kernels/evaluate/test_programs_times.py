"""Errors of forecast times beside the figures of an evaluation."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.programs.times import NOT_RECORDED, Timed, errors_of, intervals_of

_ROW = Timed("problem", "cell", "A100", "set", 10.0, 1.0, 20.0, 20.0, 40.0, 1.5, 0.5, "dry run: memory", "")


def test_errors_are_of_what_was_recorded() -> None:
    low = replace(_ROW, us=5.0, log2=0.2, measured_us=10.0)
    none = replace(_ROW, us=None, reference_us=None, log2=None, doubt_log2=None, bound=NOT_RECORDED)
    errors = errors_of([_ROW, _ROW, low, none])
    assert errors["rows"] == 4 and errors["with_program"] == 0.75
    assert errors["median_error_log2"] == 1.0 and errors["median_off_log2"] == 1.0
    assert errors["ratio_median_error_log2"] == 0.5 and errors["coverage_80"] == 2 / 3, "0.8 is beyond 1.28 deviations"
    assert errors["references"] == 1 and errors["reference_median_error"] == 1.0, "a reference counts once"


def test_problems_are_drawn_whole() -> None:
    rows = [replace(_ROW, group=str(number), us=10.0 * 2**number) for number in range(6) for _ in range(3)]
    low, high = intervals_of(rows)["median_error_log2"]
    assert 0.0 <= low < 2.5 < high <= 5.0
    assert intervals_of(rows)["coverage_80"] == [1.0, 1.0]
