"""Rates of a GPU, fitted to measured library calls."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from foretell.kernels.cost import calls
from foretell.kernels.cost.calibration import RATES, calibrated, calibration_calls, is_calibrated, scaled
from foretell.kernels.cost.plain_calls import as_call
from foretell.kernels.devices import UnknownDevice, described


@pytest.mark.parametrize("name", ["a100", "h200"])
def test_the_rates_that_made_the_times_are_found_in_spite_of_noise(name: str) -> None:
    device = described(name)
    slower = scaled(device, np.array([-0.3, -0.4, -0.6, -0.2]))
    noise = np.random.default_rng(3)
    steps = [as_call(*call) for call in calibration_calls()]
    times = [calls.time_of(step, slower).us * 2.0 ** noise.normal(0.0, 0.05) for step in steps]
    times[0] *= 30.0  # a hiccup
    found = calibrated(device, list(zip(steps, times, strict=True)))
    factors = np.log2([found.factors[rate] for rate in RATES])
    assert np.abs(factors[:3] - [-0.3, -0.4, -0.6]).max() < 0.12
    assert found.error_after < 0.05 < found.error_before
    assert is_calibrated(found.device) and not is_calibrated(device)
    assert 90 <= found.calls <= 130


def test_calls_of_a_device_as_described_leave_it_as_it_is() -> None:
    device = described("l40s")
    steps = [as_call(*call) for call in calibration_calls()]
    found = calibrated(device, [(step, calls.time_of(step, device).us) for step in steps])
    assert all(abs(factor - 1.0) < 0.02 for factor in found.factors.values())


def test_too_few_calls_are_an_error() -> None:
    with pytest.raises(ValueError, match="too few"):
        calibrated(described("a100"), [])


def test_a_calibrated_device_is_read_back_from_its_file(tmp_path: Path) -> None:
    device = scaled(described("a100"), np.array([0.1, 0.0, 0.0, 0.0]))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(device.to_dict()))
    assert described(str(path)) == device
    path.write_text("{")
    with pytest.raises(UnknownDevice):
        described(str(path))
