from __future__ import annotations

import math

import pytest

from foretell.report.numbers import count, percent, rate, seconds, size, times


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.4217, "3.42×"), (0.871, "0.87×"), (12.44, "12.4×"), (123.4, "123×"), (0.0012, "0.0012×"), (1.0, "1.00×")],
)
def test_times(value: float, text: str) -> None:
    assert times(value) == text


def test_what_is_not_there_is_a_dash() -> None:
    assert times(None) == seconds(None) == percent(None) == "–"
    assert times(math.nan) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (2.5e-5, "25 µs"),
        (0.0123, "12.3 ms"),
        (0.99951, "1.00 s"),
        (3.4, "3.40 s"),
        (42.31, "42.3 s"),
        (60.0, "60 s"),
        (99.96, "1 min 40 s"),
        (125, "2 min 5 s"),
        (4320, "1 h 12 min"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert seconds(value) == text


def test_small_shares_are_not_rounded_to_nothing() -> None:
    assert percent(0.0) == "0 %"
    assert percent(0.001) == "<1 %"
    assert percent(0.82) == "82 %"


def test_sizes_rates_and_counts() -> None:
    assert size(1.5 * 2**30) == "1.5 GiB"
    assert rate(12.3e9, "B/s") == "12.3 GB/s"
    assert count(1, "candidate") == "1 candidate"
    assert count(12345, "candidate") == "12 345 candidates"
