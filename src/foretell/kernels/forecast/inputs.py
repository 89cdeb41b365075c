"""What a trained model is told about a subject: source, build, task and device, and how they compare with each other.

Sizes enter as logarithms. Comparisons are with what the task needs on the device: a launch's threads against those the
device can hold, its loads against the bytes that must be moved, its instructions against the time physics allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from foretell.kernels.device import Device, roofline_s
from foretell.kernels.forecast.estimate import NEEDED, estimated_us
from foretell.kernels.forecast.static import static_features
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of
from foretell.kernels.protocols import Subject
from foretell.kernels.task import ITEM_BYTES, Task

GROUPS = ("source", "build", "task", "relative")
SM_LANES = 128  # operations an SM starts in a cycle
LATENCY_US = 0.5  # of one trip to memory
LEAST_COUNT = 0.25  # stands for none, where a logarithm is taken
LEAST_BYTES = 1024.0  # no workload moves less: who says so does not know

References = Mapping[str, float]  # reference's microseconds by workload


def describe_subject(about: Mapping[str, float], device: Device, subject: Subject) -> dict[str, float]:
    """Named numbers for a model, prefixed by group: `source.`, `build.`, `task.` and `relative.`; all finite.

    `about` is what `task_numbers` says of the task; it is the same for all candidates.
    """
    candidate = subject.candidate
    found = _named("source", static_features(candidate.source, candidate.language))
    found["source.is_cuda"] = float(candidate.language == "cuda")
    found |= {f"task.{k}": v for k, v in about.items() if not k.startswith("first_")}
    build = subject.build
    if build is not None and build.ok and build.features:
        found |= _named("build", build.features)
        compared = {"blocks_log2", "occupancy"} <= build.features.keys() and "first_bytes" in about
        if device.kind == "gpu" and compared:
            found |= _named("relative", _compared(build.features, about, device))
    if all(map(math.isfinite, found.values())):
        return found
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _named(group: str, numbers: Mapping[str, float]) -> dict[str, float]:
    return dict(zip(_names(group, tuple(numbers)), map(float, numbers.values()), strict=True))


@lru_cache(maxsize=256)
def _names(group: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names with their group; most subjects have the same ones."""
    return tuple(f"{group}.{name}" for name in names)


def task_numbers(task: Task, device: Device, known_us: References) -> dict[str, float]:
    """The task on the device: work, traffic, the floor, and `headroom`, log2 of the reference's time over the floor.

    Of a task whose work is unknown nothing is said but its inputs and outputs; its headroom is nan.
    """
    known = {
        "inputs": float(len(task.inputs) or max((cost.inputs for cost in task.costs.values()), default=0)),
        "outputs": float(len(task.outputs) or max((cost.outputs for cost in task.costs.values()), default=0)),
        "item_bytes": float(ITEM_BYTES.get(task.dtype, 1)) if task.inputs or task.costs else 0.0,
    }
    if max(task.least_bytes_of(w) for w in task.workloads) < LEAST_BYTES:
        return known | {"headroom": math.nan}
    floors = [max(1e-3, roofline_s(task, w, device) * 1e6) for w in task.workloads]
    times = [known_us.get(w.name, math.nan) for w in task.workloads]
    rooms = [math.log2(t / f) for t, f in zip(times, floors, strict=True) if t > 0.0]
    flops = [math.log2(max(1.0, task.flops_of(w))) for w in task.workloads]
    moved = [math.log2(max(1.0, task.least_bytes_of(w))) for w in task.workloads]
    sides = [side for w in task.workloads for side in w.sizes.values() if side > 0]
    count = len(task.workloads)
    return known | {
        "headroom": sum(rooms) / len(rooms) if rooms else math.nan,
        "floor_us": sum(math.log2(f) for f in floors) / count,
        "flops": sum(flops) / count,
        "bytes": sum(moved) / count,
        "intensity": (sum(flops) - sum(moved)) / count,
        "side_max": math.log2(max(sides, default=1)),
        "side_min": math.log2(max(1, min(sides, default=1))),
        "first_floor_us": math.log2(floors[0]),
        "first_flops": flops[0],
        "first_bytes": moved[0],
    }


def _log2(value: float) -> float:
    return math.log2(max(LEAST_COUNT, value))


def _compared(build: Mapping[str, float], task: Mapping[str, float], device: Device) -> dict[str, float]:
    """The largest launch against the device's room and against what the first workload needs."""

    def share(name: str) -> float:
        return float(build.get(f"{name}_share", 0.0))

    cores, clock_mhz = max(1, device.cores), max(1.0, device.clock_hz / 1e6)
    holds = multiprocessor_of(capability_of(device))
    blocks, threads = float(build["blocks_log2"]), max(1.0, float(build.get("threads", 1.0)))
    occupancy = max(1.0 / 64.0, float(build["occupancy"]))
    instructions = max(1.0, float(build.get("instructions", 1.0)))
    started = blocks + math.log2(threads)
    resident = min(started, math.log2(cores * holds.threads * occupancy))
    per_core = max(1, math.floor(occupancy * holds.threads / max(32.0, threads)))
    waves = 2.0**blocks / (cores * per_core)
    loads = (share("global_load") + share("async_copy")) * instructions
    load_bytes = loads * (4.0 + 12.0 * min(1.0, share("wide_load")))
    issue_us = math.log2(instructions) + started - math.log2(cores * SM_LANES * clock_mhz)
    trips = task["first_bytes"] - resident - _log2(load_bytes)
    found = {
        "started": started - math.log2(cores * holds.threads),
        "resident": resident - math.log2(cores * holds.threads),
        "waves": math.log2(waves),
        "last_wave": waves / math.ceil(waves),
        "bytes_each": task["first_bytes"] - started,
        "bytes_resident": task["first_bytes"] - resident,
        "flops_each": task["first_flops"] - started,
        "flops_resident": task["first_flops"] - resident,
        "bytes_block": task["first_bytes"] - blocks,
        "issue": issue_us - task["first_floor_us"],
        "loads": _log2(share("global_load") * instructions) + started + 2.0 - task["first_bytes"],
        "stores": _log2(share("global_store") * instructions) + started + 2.0 - task["first_bytes"],
        "flops_per_operation": task["first_flops"] - started - _log2((share("fma") + share("float")) * instructions),
        "flops_per_tensor": task["first_flops"] - started - _log2(share("tensor") * instructions),
        "trips": trips,
        "trips_us": trips + math.log2(LATENCY_US) - task["first_floor_us"],
        "in_flight": resident + _log2(load_bytes) - math.log2(cores * 65536.0),
        "registers_block": float(build.get("registers", 0.0)) * threads / holds.registers,
    }
    if NEEDED in build:
        times = estimated_us(build, device, waves)
        found |= {f"time_{name}": math.log2(us) - task["first_floor_us"] for name, us in times.items()}
        found["reread"] = float(build["dry_load_cost_log2"]) - task["first_bytes"]
        found["rewritten"] = float(build["dry_store_cost_log2"]) - task["first_bytes"]
    for name in ("global_load", "global_store", "shared_load", "atomic", "barrier", "tensor", "special", "integer"):
        found[f"n_{name}"] = share(name) * instructions
    return found
