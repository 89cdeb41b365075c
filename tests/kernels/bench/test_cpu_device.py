"""The CPU's bandwidth: the best of several probes, taken again after a busy machine or when it is doubted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from foretell.kernels.bench import cpu_device
from foretell.kernels.bench.cpu_device import detect_cpu, probed_again


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Let the next probes find these bandwidths, on a quiet or a busy machine; those not used yet are returned."""

    def let(*values: float, busy: bool = False) -> list[float]:
        left = list(values)
        monkeypatch.setattr(cpu_device, "_measure_bandwidth", lambda cores: left.pop(0))
        monkeypatch.setattr(cpu_device.Watch, "others_share", lambda watch: 0.8 if busy else 0.0)
        return left

    return let


def test_a_probe_of_a_quiet_machine_is_kept(probes: Callable[..., list[float]]) -> None:
    left = probes(6e10, 1e9)
    assert detect_cpu().bandwidth_bytes_per_s == 6e10
    assert detect_cpu().bandwidth_bytes_per_s == 6e10
    assert left == [1e9]


def test_a_probe_of_a_busy_machine_is_taken_again_and_the_larger_counts(probes: Callable[..., list[float]]) -> None:
    probes(1.3e10, 9e9, busy=True)
    first = detect_cpu()
    assert first.bandwidth_bytes_per_s == 1.3e10
    assert detect_cpu().bandwidth_bytes_per_s == 1.3e10
    probes(6e10)
    quiet = detect_cpu()
    assert quiet.bandwidth_bytes_per_s == 6e10
    assert quiet.id == first.id, "the identity of a device does not depend on its figures"


def test_a_doubted_figure_is_probed_again_and_never_lowered(probes: Callable[..., list[float]]) -> None:
    probes(1e10)
    device = detect_cpu()
    probes(6e10)
    assert probed_again(device).bandwidth_bytes_per_s == 6e10
    assert detect_cpu().bandwidth_bytes_per_s == 6e10, "remembered"
    probes(2e9)
    assert probed_again(detect_cpu()).bandwidth_bytes_per_s == 6e10


@pytest.mark.parametrize("text", ["", "[]", "null", '{"bytes_per_s": "fast"}', '{"bytes_per_s": -1, "quiet": true}'])
def test_an_odd_record_is_measured_anew(text: str, own_cache: Path, probes: Callable[..., list[float]]) -> None:
    probes(3e10)
    detect_cpu()
    [record] = own_cache.glob("bandwidth-*.json")
    record.write_text(text)
    probes(5e10)
    assert detect_cpu().bandwidth_bytes_per_s == 5e10


def test_a_real_probe_is_positive() -> None:
    assert detect_cpu().bandwidth_bytes_per_s > 0
