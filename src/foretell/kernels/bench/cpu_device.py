"""This machine's CPU as a Device: read from the system, with the memory bandwidth measured and remembered."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from foretell.kernels.bench.cpu_model import cpu_name, parse_cpuinfo, vector_bytes
from foretell.kernels.contention import Watch
from foretell.kernels.device import Device
from foretell.kernels.languages.cpp import toolchain
from foretell.kernels.store.locations import cache_dir
from foretell.received import parsed

# Part of what a measurement holds for: times taken in another way are not compared with these.
TIMING = "stop-and-go timing"
_FMA_UNITS = 2
_FALLBACK_CLOCK_HZ = 2.5e9
_PROBE_BYTES = 64 << 20
_PROBES = 7
_QUIET_SHARE = 0.1  # of all processor time: what others may take during a probe that is to be kept
_MOST_BYTES_PER_S = 1e14


def detect_cpu() -> Device:
    """Describe this CPU. Peak rate: cores x clock x vector lanes x 2 (multiply and add) x 2 units."""
    info = _cpuinfo()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    clock_hz = _clock_hz(info)
    width_bytes = vector_bytes(info)
    name = cpu_name(info) or platform.processor() or platform.machine()
    peak = cores * clock_hz * width_bytes / 4 * 2 * _FMA_UNITS
    return Device(
        name=f"{name} x{cores}",
        kind="cpu",
        cores=cores,
        clock_hz=clock_hz,
        bandwidth_bytes_per_s=_bandwidth(name, cores),
        peak_flops={"float32": peak, "float64": peak / 2, "int32": peak, "int64": peak / 2, "uint8": peak * 4},
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        cache_bytes=_cache_bytes(),
        vector_bytes=width_bytes,
        languages=("cpp",),
        toolchain=f"{toolchain()}, {TIMING}",
    )


def _cpuinfo() -> dict[str, str]:
    try:
        return parse_cpuinfo(Path("/proc/cpuinfo").read_text())
    except OSError:
        return {}


def _clock_hz(info: dict[str, str]) -> float:
    """The highest clock that the system tells of: the current one may be that of a core at rest."""
    told = [float(found) * 1e9 for found in re.findall(r"@ ([0-9.]+)GHz", info.get("model name", ""))]
    with suppress(ValueError):
        told.append(float(info.get("cpu MHz", 0)) * 1e6)
    with suppress(OSError, ValueError):
        told.append(float(Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").read_text()) * 1e3)
    return max(told, default=0.0) or _FALLBACK_CLOCK_HZ


def _cache_bytes() -> int:
    """Size of the last-level cache, or 32 MiB where the system does not tell."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
        if text and text[-1] in units:
            sizes.append(int(text[:-1]) * units[text[-1]])
    return max(sizes, default=32 << 20)


def probed_again(device: Device) -> Device:
    """The device with its bandwidth probed once more, the larger value kept: a figure that a measurement contradicts.

    A copy can only be slower than memory allows, so of two probes the larger is the nearer to the truth.
    """
    record = _record(device.name.rpartition(" x")[0], device.cores)
    kept = _kept(record)
    if kept is not None and kept.bytes_per_s > device.bandwidth_bytes_per_s:
        return replace(device, bandwidth_bytes_per_s=kept.bytes_per_s)  # found out before, by a doubt like this one
    probe = _probe(device.cores)
    best = max(device.bandwidth_bytes_per_s, probe.bytes_per_s)
    if best > device.bandwidth_bytes_per_s:
        _keep(record, Probe(best, probe.quiet))
    return replace(device, bandwidth_bytes_per_s=best)


@dataclass(frozen=True)
class Probe:
    """A probed bandwidth; `quiet` where other processes left the cores alone meanwhile."""

    bytes_per_s: float
    quiet: bool


def _bandwidth(name: str, cores: int) -> float:
    """Bytes per second of copying with all cores (read + written).

    Measured once per machine and kept in the cache; a value taken while the machine was busy is measured again the
    next time, until one was taken on a quiet machine. The largest counts.
    """
    record = _record(name, cores)
    kept = _kept(record)
    if kept is not None and kept.quiet:
        return kept.bytes_per_s
    probe = _probe(cores)
    best = max(probe.bytes_per_s, kept.bytes_per_s if kept is not None else 0.0)
    _keep(record, Probe(best, probe.quiet))
    return best


def _record(name: str, cores: int) -> Path:
    key = hashlib.sha256(f"{name} {cores} {platform.node()}".encode()).hexdigest()[:12]
    return cache_dir() / f"bandwidth-{key}.json"


def _kept(record: Path) -> Probe | None:
    try:
        data = parsed(record.read_text())
        value, quiet = float(data["bytes_per_s"]), data["quiet"]
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None
    return Probe(value, quiet is True) if 0.0 < value < _MOST_BYTES_PER_S else None


def _keep(record: Path, probe: Probe) -> None:
    partial = record.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(asdict(probe)))
    partial.replace(record)


def _probe(cores: int) -> Probe:
    watch = Watch()
    value = _measure_bandwidth(cores)
    return Probe(value, watch.others_share() <= _QUIET_SHARE)


def _measure_bandwidth(cores: int) -> float:
    pairs = [(np.ones(_PROBE_BYTES // 8), np.empty(_PROBE_BYTES // 8)) for _ in range(cores)]
    best = 0.0
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(_PROBES):
            started = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            best = max(best, 2 * _PROBE_BYTES * cores / (time.perf_counter() - started))
    return best
