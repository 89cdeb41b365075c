"""The expected time of one launch of which nothing is known but its build and the tensors it was given.

The shipped model says how long a built candidate takes over the floor of its task. Here there is no task: the floor is
what the tensors of the call and the tensor-core work that the dry run counted allow on the device, and what only a
task or a source could say is left unknown. What is lost by that is little among configurations of one kernel
(docs/hooks.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.forecast.inputs import describe_subject
from foretell.kernels.forecast.trained import shipped
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build, Subject

LEAST_FLOOR_US = 1e-3


@dataclass(frozen=True)
class Given:
    """A tensor of the call: its shape, the name of its dtype (`float16`) and the bytes of one item."""

    shape: tuple[int, ...]
    dtype: str
    item_bytes: int

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.item_bytes


def launch_ms(builds: Sequence[Mapping[str, float]], given: Sequence[Given], device: Device) -> list[float]:
    """Expected milliseconds of launches with these build features (`launch_features`), each on the same tensors.

    Infinite where not one block fits on a multiprocessor of the device.
    """
    tier = shipped().tiers["gpu.build"]
    floors, rows = [], []
    for build in builds:
        about = _about(build, given, device)
        floors.append(about["floor_us"])
        subject = Subject(Candidate("", "triton", ""), Build(Status.OK, "", build))
        described = describe_subject(about, device, subject)
        rows.append({name: value for name, value in described.items() if not name.startswith("source.")})
    if not rows:
        return []
    us_log2 = np.array(floors) - tier.means(tier.table(rows), np.zeros(len(rows)))
    fits = [build.get("occupancy", 1.0) > 0.0 for build in builds]
    return [2.0**us / 1e3 if fit else math.inf for us, fit in zip(us_log2.tolist(), fits, strict=True)]


def _about(build: Mapping[str, float], given: Sequence[Given], device: Device) -> dict[str, float]:
    """What `task_numbers` would say of a task that does no more than this launch does to its tensors."""
    moved = float(max(1, sum(tensor.bytes for tensor in given)))
    flops = max(1.0, 2.0 ** build.get("dry_tensor_flops_log2", 0.0) - 1.0)
    rate = device.peak_flops.get(given[0].dtype if given else "", max(device.peak_flops.values()))
    floor_us = max(LEAST_FLOOR_US, moved / device.bandwidth_bytes_per_s * 1e6, flops / rate * 1e6)
    sides = [side for tensor in given for side in tensor.shape if side > 0] or [1]
    return {
        "item_bytes": float(given[0].item_bytes) if given else 0.0,
        "floor_us": math.log2(floor_us),
        "flops": math.log2(flops),
        "bytes": math.log2(moved),
        "intensity": math.log2(flops) - math.log2(moved),
        "side_max": math.log2(max(sides)),
        "side_min": math.log2(min(sides)),
        "first_floor_us": math.log2(floor_us),
        "first_flops": math.log2(flops),
        "first_bytes": math.log2(moved),
    }
