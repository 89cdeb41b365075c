"""A device: what a candidate would run on, described so that a forecast needs no such device at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from foretell.kernels.task import Task, Workload
from foretell.kernels.typed import typed


@dataclass(frozen=True)
class Device:
    """Description of a CPU or GPU and of the toolchain that builds for it.

    `peak_flops` is keyed by dtype (operations per second over all cores); `bandwidth_bytes_per_s` is main memory's.
    `languages` are those it can run. `id` names the (device, toolchain) pair that a measurement holds for.
    """

    name: str
    kind: str
    cores: int
    clock_hz: float
    bandwidth_bytes_per_s: float
    peak_flops: Mapping[str, float]
    memory_bytes: int
    cache_bytes: int
    vector_bytes: int
    languages: tuple[str, ...]
    toolchain: str

    @property
    def id(self) -> str:
        return f"{self.name} | {self.toolchain}"

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["peak_flops"] = dict(self.peak_flops)
        data["languages"] = list(self.languages)
        return data

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Device:
        fields = dict(data)
        fields["languages"] = tuple(fields["languages"])
        device = typed(Device(**fields))
        counts = (device.cores, device.memory_bytes, device.cache_bytes, device.vector_bytes)
        rates = (device.clock_hz, device.bandwidth_bytes_per_s, *device.peak_flops.values())
        if not device.peak_flops or min(rates) <= 0 or min(counts) <= 0:
            raise ValueError("a device has a rate, or a number of cores or bytes, that is not above zero")
        return device


def roofline_s(task: Task, workload: Workload, device: Device) -> float:
    """Least seconds physics allows for one run: the larger of bytes over bandwidth and FLOPs over peak rate."""
    memory_s = task.least_bytes_of(workload) / device.bandwidth_bytes_per_s
    peak = device.peak_flops.get(task.dtype, max(device.peak_flops.values()))
    return max(memory_s, task.flops_of(workload) / peak)
