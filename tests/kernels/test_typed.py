"""Values read from files are checked against their annotations."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.typed import finite, typed

GOOD = Measurement(
    Status.OK, speedup=2.0, low=1.9, high=2.1, timings=(Timing("n=1", (4.0, 4.1), (2.0, 2.1), 2.0, 1.9, 2.1),)
)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, None, "1", 2**64, []])
def test_what_is_no_finite_number(value: Any) -> None:
    assert not finite(value)
    with pytest.raises(ValueError, match="build_s is"):
        typed(Cost(build_s=value))


def test_an_integer_will_do_for_a_real_number() -> None:
    assert typed(Cost(1, 2, 3)) == Cost(1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    "change",
    [
        {"speedup": -1.0},
        {"speedup": None},
        {"speedup": "2"},
        {"low": 0.0},
        {"message": None},
        {"stopped_early": 1},
        {"status": "splendid"},
        {"conditions": [1]},
        {"conditions": {"others": "many", "load": 1.0, "cores": 2, "disturbed": False}},
        {"conditions": {"others": 0.5, "load": 1.0, "cores": 2, "disturbed": "no"}},
        {"conditions": {"others": 0.5}},
        {"timings": [{}]},
        {"timings": [GOOD.to_dict()["timings"][0] | {"reference_us": []}]},
        {"timings": [GOOD.to_dict()["timings"][0] | {"candidate_us": [1.0, math.nan]}]},
        {"timings": [GOOD.to_dict()["timings"][0] | {"candidate_us": [1.0, "1"]}]},
        {"cost": {"build_s": "soon"}},
        {"cost": {"unheard_of": 1.0}},
    ],
)
def test_a_measurement_that_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    assert Measurement.from_dict(GOOD.to_dict()) == GOOD
    with pytest.raises((ValueError, KeyError, TypeError)):
        Measurement.from_dict(GOOD.to_dict() | change)


def test_candidates_and_devices_are_checked_too() -> None:
    candidate = Candidate("softmax", "cpp", "int k;", Origin("person"), ("a",))
    assert Candidate.from_dict(candidate.to_dict()) == candidate
    for change in ({"source": None}, {"parents": [1]}, {"origin": {"kind": 1, "detail": {}}}):
        with pytest.raises((ValueError, KeyError, TypeError)):
            Candidate.from_dict(candidate.to_dict() | change)
    assert Device.from_dict(FAKE_DEVICE.to_dict()) == replace(FAKE_DEVICE)
    for odd in ({"cores": 1.5}, {"peak_flops": {}}, {"peak_flops": {"float32": 0.0}}, {"bandwidth_bytes_per_s": 0}):
        with pytest.raises(ValueError, match=r"cores|rate"):
            Device.from_dict(FAKE_DEVICE.to_dict() | odd)
