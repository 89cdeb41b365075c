"""Packed measurements and forecasts come back as they were, plain ones of earlier versions too, and odd ones do not."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.belief import Forecast
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.packed import (
    are_packed_times,
    forecast_from_json,
    forecast_to_json,
    measurement_from_json,
    measurement_to_json,
    pack_measurement,
    unpack_measurement,
)

TIMES = st.floats(min_value=1e-9, max_value=1e12)
TIMINGS = st.builds(
    Timing,
    st.text(),
    st.lists(TIMES, min_size=1, max_size=5).map(tuple),
    st.lists(TIMES, min_size=1, max_size=5).map(tuple),
    TIMES,
    TIMES,
    TIMES,
)
MEASUREMENTS = st.builds(
    Measurement,
    st.just(Status.OK),
    st.text(),
    TIMES,
    TIMES,
    TIMES,
    st.lists(TIMINGS, max_size=3).map(tuple),
    st.booleans(),
    st.builds(Cost, TIMES, TIMES, TIMES),
)
GOOD = Measurement(
    Status.OK, speedup=2.0, low=1.9, high=2.1, timings=(Timing("n=1", (4.0, 4.1), (2.0, 2.1), 2.0, 1.9, 2.1),)
)
NORMAL = Forecast.from_normal(0.5, 0.2, 0.1)


@given(MEASUREMENTS)
def test_a_measurement_comes_back_exactly(measurement: Measurement) -> None:
    assert unpack_measurement(*pack_measurement(measurement)) == measurement
    stored = json.loads(json.dumps(measurement_to_json(measurement)))
    assert measurement_from_json(stored) == measurement
    assert measurement_from_json(measurement.to_dict()) == measurement


@given(
    st.lists(st.floats(-50, 50), min_size=2, max_size=20, unique_by=lambda x: round(x, 3)).map(sorted),
    st.floats(0, 1),
    st.randoms(use_true_random=False),
)
def test_a_forecast_comes_back_exactly(knots: list[float], p_fail: float, rng: Any) -> None:
    inner = sorted(rng.random() for _ in knots[2:])
    forecast = Forecast(p_fail, tuple(knots), (0.0, *inner, 1.0))
    assert forecast_from_json(json.loads(json.dumps(forecast_to_json(forecast)))) == forecast
    assert forecast_from_json(forecast.as_dict()) == forecast


def test_packed_forms_are_small() -> None:
    packed, plain = measurement_to_json(GOOD), GOOD.to_dict()
    many = Timing("n=1", tuple(1.0 + i / 7 for i in range(30)), tuple(2.0 + i / 7 for i in range(30)), 2.0, 1.9, 2.1)
    many_packed = measurement_to_json(Measurement(Status.OK, timings=(many,), speedup=2.0))
    assert packed.keys() - plain.keys() == {"samples"}
    assert len(json.dumps(many_packed)) < 0.75 * len(json.dumps(Measurement(Status.OK, timings=(many,)).to_dict()))
    assert len(json.dumps(forecast_to_json(NORMAL))) < 0.75 * len(json.dumps(NORMAL.as_dict()))


def _doubles(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()


@pytest.mark.parametrize(
    "change",
    [
        {"samples": None},
        {"samples": 7},
        {"samples": "é"},
        {"samples": "not base64"},
        {"samples": "AAAA"},
        {"samples": ""},
        {"samples": _doubles(2.0, 1.9, 2.1, 4.0, 4.1, 2.0, float("nan"))},
        {"samples": _doubles(2.0, 1.9, 2.1, 4.0, 4.1, 2.0, float("inf"))},
        {"samples": _doubles(2.0, 1.9, 2.1, 4.0, 4.1, 2.0, -2.1)},
        {"samples": _doubles(0.0, 1.9, 2.1, 4.0, 4.1, 2.0, 2.1)},
        {"samples": _doubles(2.0, 1.9, 2.1, 4.0, 4.1, 2.0)},
        {"timings": None},
        {"timings": ["2 2"]},
        {"timings": [["n=1", 2, 2]]},
        {"timings": [4]},
        {"timings": ["4 0 n=1"]},
        {"timings": ["-1 5 n=1"]},
        {"timings": ["2.0 2 n=1"]},
        {"timings": ["many 2 n=1"]},
        {"timings": ["2 2 n=1", "1 1 n=2"]},
        {"timings": [f"{10**30} 2 n=1"]},
        {"timings": ["9" * 5000 + " 2 n=1"]},
        {"timings": []},
        {"speedup": "2"},
        {"status": "splendid"},
    ],
)
def test_a_measurement_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        measurement_from_json(measurement_to_json(GOOD) | change)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e308, -1.0, 0.0])
def test_all_samples_are_looked_at_at_once(odd: float) -> None:
    good = struct.pack("<2d", 1.0, 2.0)
    assert are_packed_times([]) and are_packed_times([good, b"", good])
    assert not are_packed_times([good, struct.pack("<2d", 1.0, odd)])
    assert not are_packed_times([good, good[:4], good[4:]])


@pytest.mark.parametrize(
    "change",
    [
        {"p_fail": 2.0},
        {"p_fail": None},
        {"knots": "AAAA"},
        {"knots": ""},
        {"knots": _doubles(*[float("nan")] * len(NORMAL.knots))},
        {"knots": _doubles(*reversed(NORMAL.knots))},
        {"levels": _doubles(0.0, 1.0)},
        {"levels": None},
        {"levels": [0.0, 1.0]},
        {"levels": {}},
    ],
)
def test_a_forecast_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        forecast_from_json(forecast_to_json(NORMAL) | change)
