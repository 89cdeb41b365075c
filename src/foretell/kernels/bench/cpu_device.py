"""This machine's CPU as a Device: read from the system, with the memory bandwidth measured once and remembered."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from foretell.kernels.device import Device
from foretell.kernels.languages.cpp import toolchain
from foretell.kernels.store.locations import cache_dir

_FMA_UNITS = 2
_FALLBACK_CLOCK_HZ = 2.5e9
_PROBE_BYTES = 64 << 20


def detect_cpu() -> Device:
    """Describe this CPU. Peak rate: cores x clock x vector lanes x 2 (multiply and add) x 2 units."""
    info = _cpuinfo()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    clock_hz = float(info.get("cpu MHz", 0)) * 1e6 or _FALLBACK_CLOCK_HZ
    flags = info.get("flags", info.get("Features", "")).split()
    vector_bytes = 64 if "avx512f" in flags else 32 if "avx2" in flags else 16
    name = info.get("model name") or platform.processor() or platform.machine()
    peak = cores * clock_hz * vector_bytes / 4 * 2 * _FMA_UNITS
    return Device(
        name=f"{name} x{cores}",
        kind="cpu",
        cores=cores,
        clock_hz=clock_hz,
        bandwidth_bytes_per_s=_bandwidth(name, cores),
        peak_flops={"float32": peak, "float64": peak / 2, "int32": peak, "int64": peak / 2, "uint8": peak * 4},
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        cache_bytes=_cache_bytes(),
        vector_bytes=vector_bytes,
        languages=("cpp",),
        toolchain=toolchain(),
    )


def _cpuinfo() -> dict[str, str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _cache_bytes() -> int:
    """Size of the last-level cache, or 32 MiB where the system does not tell."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
        if text and text[-1] in units:
            sizes.append(int(text[:-1]) * units[text[-1]])
    return max(sizes, default=32 << 20)


def _bandwidth(name: str, cores: int) -> float:
    """Bytes per second of copying with all cores (read + written), measured once per machine and kept in the cache."""
    key = hashlib.sha256(f"{name} {cores} {platform.node()}".encode()).hexdigest()[:12]
    record = cache_dir() / f"bandwidth-{key}.json"
    try:
        return float(json.loads(record.read_text())["bytes_per_s"])
    except (OSError, ValueError, KeyError):
        value = _measure_bandwidth(cores)
    partial = record.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"bytes_per_s": value}))
    partial.replace(record)
    return value


def _measure_bandwidth(cores: int) -> float:
    pairs = [(np.ones(_PROBE_BYTES // 8), np.empty(_PROBE_BYTES // 8)) for _ in range(cores)]
    best = 0.0
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(5):
            started = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            best = max(best, 2 * _PROBE_BYTES * cores / (time.perf_counter() - started))
    return best
