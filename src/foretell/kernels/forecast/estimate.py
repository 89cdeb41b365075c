"""What a dry run's counts mean on a device: the time each of its parts would take for them if nothing else did.

Peak rates, no overlap, no fitting: numbers for a model to learn from, not a forecast by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from foretell.kernels.device import Device

SCHEDULERS = 4  # instructions a multiprocessor starts in a cycle
SPECIAL_CYCLES = 2  # in which it starts one for its special-function units
CACHE_OVER_MEMORY = 2.5  # how much faster the last-level cache is than memory
TRIP_US = 0.6  # to memory and back
LAUNCH_US = 2.0
LEAST_US = 0.01

NEEDED = "dry_issued_log2"


def estimated_us(build: Mapping[str, float], device: Device, waves: float) -> dict[str, float]:
    """Microseconds by part of the device, and `longest`, the largest; `waves` is how often it is filled with blocks."""

    def count(name: str) -> float:
        return math.exp2(float(build.get(f"dry_{name}_log2", 0.0))) - 1.0

    cycles = device.cores * device.clock_hz / 1e6  # of all multiprocessors in a microsecond
    memory = device.bandwidth_bytes_per_s / 1e6
    tensor = device.peak_flops.get("float16", max(device.peak_flops.values())) / 1e6
    parts = {
        "memory": (count("load_bytes") + count("store_bytes")) / memory,
        "cache": (count("load_cost") + count("store_cost")) / (memory * CACHE_OVER_MEMORY),
        "atomics": count("atomic_cost") / (memory * CACHE_OVER_MEMORY),
        "issue": count("issued") / (cycles * SCHEDULERS),
        "shared": (count("shared_load_cost") + count("shared_store_cost")) / cycles,
        "tensor": count("tensor_flops") / tensor,
        "special": count("special") * SPECIAL_CYCLES / cycles,
        "waiting": count("trips") * TRIP_US * max(1.0, waves),
        "launches": float(build.get("launches", 1.0)) * LAUNCH_US,
    }
    parts = {name: max(LEAST_US, value) for name, value in parts.items()}
    ordered = sorted(parts.values())
    return parts | {"longest": ordered[-1], "second": ordered[-2], "together": math.fsum(ordered)}
