"""The physics forecaster: no candidate can be faster than the device's roofline, and most are not near it.

Everything follows from the headroom, the log2 ratio between the reference's time and the least time physics allows. The
distribution is wide, ends at the headroom, and takes no look at the source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task, Workload

CALL_S = 1e-6  # no call, however little it does, is timed below this
GPU_REFERENCE_EFFICIENCY = 0.25  # share of the roofline that a straightforward GPU program reaches
ESTIMATE_SLACK_LOG2 = 1.5  # how far the estimated time of an unmeasured reference may be off, in doublings
CERTAIN = 0.995  # nothing is forecast with more certainty than this
LEAST_HEADROOM_LOG2 = 0.25  # a reference at its roofline still leaves room for error in the device's description

# Where candidates end up: below the reference in doublings lost, above it in shares of the headroom.
_LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_LOSSES_LOG2 = (-6.0, -2.5, -0.5)
_SHARES = (0.15, 0.4, 0.75, 1.0)


def least_s(task: Task, workload: Workload, device: Device) -> float:
    """Least seconds for one run: max(FLOPs / peak rate, bytes / bandwidth), and never below `CALL_S`.

    Unlike `device.roofline_s` it grants data that fit the last-level cache the rate at which cores can load
    (cores * clock * vector_bytes), since a warm cache beats main memory; so it is a bound whatever the cache holds.
    """
    moved = task.least_bytes_of(workload)
    rate = device.bandwidth_bytes_per_s
    if moved <= device.cache_bytes:
        rate = max(rate, device.cores * device.clock_hz * device.vector_bytes)
    return max(CALL_S, moved / rate, task.flops_of(workload) / _peak(task, device))


def estimated_reference_s(task: Task, workload: Workload, device: Device) -> float:
    """The reference's time by a simple model, for use until it has been measured.

    On a CPU one core does one operation a cycle and then moves the bytes: FLOPs / clock + bytes / bandwidth. On a
    GPU the reference is taken to reach `GPU_REFERENCE_EFFICIENCY` of the roofline.
    """
    if device.kind == "gpu":
        return least_s(task, workload, device) / GPU_REFERENCE_EFFICIENCY
    moved_s = task.least_bytes_of(workload) / device.bandwidth_bytes_per_s
    return CALL_S + task.flops_of(workload) / device.clock_hz + moved_s


def reference_times_s(measured: Sequence[Measurement]) -> dict[str, float]:
    """The reference's time on each workload: the median over measurements of the median sample."""
    samples: dict[str, list[float]] = {}
    for measurement in measured:
        if measurement.status is Status.INFRASTRUCTURE:
            continue
        for timing in measurement.timings:
            times_us = [t for t in timing.reference_us if math.isfinite(t) and t > 0.0]
            if times_us:
                samples.setdefault(timing.workload, []).append(median(times_us) * 1e-6)
    return {workload: median(times_s) for workload, times_s in samples.items()}


def headroom_log2(task: Task, device: Device, known_s: Mapping[str, float]) -> float:
    """Largest log2 speedup physics allows: the mean over workloads of log2(reference time / least time).

    Workloads whose reference time is not in `known_s` use the estimate and get `ESTIMATE_SLACK_LOG2` on top.
    """
    rooms = []
    for workload in task.workloads:
        floor_s = least_s(task, workload, device)
        if workload.name in known_s:
            rooms.append(math.log2(known_s[workload.name] / floor_s))
        else:
            estimate_s = estimated_reference_s(task, workload, device)
            rooms.append(math.log2(estimate_s / floor_s) + ESTIMATE_SLACK_LOG2)
    return max(LEAST_HEADROOM_LOG2, fmean(rooms))


def build_failed(subject: Subject) -> bool:
    """True where the subject was built, and the candidate is to blame that it failed."""
    return subject.build is not None and subject.build.status.is_failure


class RooflineForecaster:
    """Says the same of every candidate of a task: a wide distribution that ends at the headroom, and `p_fail`.

    Only a failed build is told apart, as near-certain failure.

    Learns nothing but the reference's times. Its median lies a little above the reference, its lower half falls off to
    a 64th of its speed.
    """

    name = "roofline"
    cost_s = 1e-5

    def __init__(self, p_fail: float = 0.2) -> None:
        if not 0.0 < p_fail < 1.0:
            raise ValueError(f"p_fail must lie strictly between 0 and 1, got {p_fail!r}")
        self._p_fail = p_fail
        self._known_s: dict[tuple[str, str], dict[str, float]] = {}

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Take the reference's times from the measurements; what was learnt before is forgotten."""
        self._known_s = {(task.identity, device.id): reference_times_s([measurement for _, measurement in measured])}

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        room = headroom_log2(task, device, self._known_s.get((task.identity, device.id), {}))
        values = (*_LOSSES_LOG2, *(share * room for share in _SHARES))
        usual = Forecast.from_quantiles(_LEVELS, values, self._p_fail)
        doomed = replace(usual, p_fail=CERTAIN)
        return [doomed if build_failed(subject) else usual for subject in subjects]


def _peak(task: Task, device: Device) -> float:
    return device.peak_flops.get(task.dtype, max(device.peak_flops.values(), default=math.inf))
