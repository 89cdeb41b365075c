"""A measurement: what running a candidate showed, with every sample kept and its cost told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from foretell.kernels.typed import finite, typed

_MOST = 1e300  # larger than any time or ratio, and smaller than what overflows


class Status(StrEnum):
    """How running a candidate ended. Closed: every outcome is one of these."""

    OK = "ok"
    COMPILE_ERROR = "compile_error"
    LAUNCH_ERROR = "launch_error"
    WRONG = "wrong"
    TIMEOUT = "timeout"
    CRASH = "crash"
    CHEAT = "cheat"
    INFRASTRUCTURE = "infrastructure"

    @property
    def is_failure(self) -> bool:
        """True where the candidate is to blame; a fault of the machine says nothing about the candidate."""
        return self not in (Status.OK, Status.INFRASTRUCTURE)


@dataclass(frozen=True)
class Timing:
    """Paired samples of one workload: `reference_us[i]` and `candidate_us[i]` ran one right after the other."""

    workload: str
    reference_us: tuple[float, ...]
    candidate_us: tuple[float, ...]
    speedup: float
    low: float
    high: float


@dataclass(frozen=True)
class Cost:
    """Seconds paid: building, the device busy with running (reference included), and wall clock in all."""

    build_s: float = 0.0
    device_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True)
class Measurement:
    """The outcome of running one candidate.

    `speedup` is the geometric mean over workloads of the median paired ratio reference / candidate, with the
    interval `low` to `high` (95 %); all three are None unless `status` is ok. `stopped_early` marks a correct but
    hopeless candidate whose timing was cut short: its speedup is real, its interval wide. `method` states how
    it was timed (cache state, clock), `conditions` what state the device was in: clocks, temperature and throttling of
    a GPU; of a CPU the load, the share of the processors that others used, and whether that `disturbed` the timing.
    """

    status: Status
    message: str = ""
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    timings: tuple[Timing, ...] = ()
    stopped_early: bool = False
    cost: Cost = field(default_factory=Cost)
    method: str = ""
    device: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status is Status.OK

    @property
    def shown_faster(self) -> bool:
        """True if the whole 95 % interval lies above 1."""
        return self.ok and self.low is not None and self.low > 1.0

    @property
    def log2_speedup(self) -> float:
        """log2 of the speedup; nan unless ok."""
        return math.log2(self.speedup) if self.speedup else math.nan

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status.value,
            "message": self.message,
            "speedup": self.speedup,
            "low": self.low,
            "high": self.high,
            "timings": [
                {
                    "workload": t.workload,
                    "reference_us": list(t.reference_us),
                    "candidate_us": list(t.candidate_us),
                    "speedup": t.speedup,
                    "low": t.low,
                    "high": t.high,
                }
                for t in self.timings
            ],
            "stopped_early": self.stopped_early,
            "cost": {"build_s": self.cost.build_s, "device_s": self.cost.device_s, "wall_s": self.cost.wall_s},
            "method": self.method,
            "device": self.device,
            "conditions": dict(self.conditions),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Measurement:
        """The measurement that `to_dict` described; ValueError, KeyError or TypeError where it makes no sense."""
        measurement = Measurement(
            status=Status(data["status"]),
            message=data["message"],
            speedup=data["speedup"],
            low=data["low"],
            high=data["high"],
            timings=tuple(_timing(timing) for timing in data["timings"]),
            stopped_early=data["stopped_early"],
            cost=typed(Cost(**data["cost"])),
            method=data["method"],
            device=data["device"],
            conditions=dict(data.get("conditions", {})),
        )
        if measurement.ok and measurement.speedup is None:
            raise ValueError("it is ok without a speedup")
        if not all(value is None or value > 0 for value in (measurement.speedup, measurement.low, measurement.high)):
            raise ValueError("its speedup is no positive number")
        if "others" in measurement.conditions:
            _check_contention(measurement.conditions)
        return typed(measurement)


def _check_contention(conditions: Mapping[str, Any]) -> None:
    """ValueError or KeyError where the conditions of a CPU's timing are not what a report counts on."""
    if not all(finite(conditions[name]) for name in ("others", "load", "cores")):
        raise ValueError("the load of its machine is no number")
    if not isinstance(conditions["disturbed"], bool):
        raise ValueError(f"it was disturbed: {conditions['disturbed']!r}")


def _timing(data: Mapping[str, Any]) -> Timing:
    """The timing that `to_dict` described. Written for speed: a journal or catalogue holds thousands of these."""
    workload, speedup, low, high = data["workload"], data["speedup"], data["low"], data["high"]
    reference_us, candidate_us = tuple(data["reference_us"]), tuple(data["candidate_us"])
    samples = reference_us + candidate_us
    # Comparisons raise TypeError where one of them is no number; the sum of samples is not finite where one is not.
    if not (reference_us and candidate_us and min(samples) > 0 and sum(samples) < _MOST):
        raise ValueError("a workload has samples that are no times")
    if not (0 < speedup < _MOST and 0 < low < _MOST and 0 < high < _MOST):
        raise ValueError("a workload has a speedup that is no positive number")
    if not isinstance(workload, str):
        raise ValueError(f"a workload is named {workload!r}")
    return Timing(workload, reference_us, candidate_us, speedup, low, high)
