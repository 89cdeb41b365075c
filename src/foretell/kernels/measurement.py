"""A measurement: what running a candidate showed, with every sample kept and its cost told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from foretell.kernels.deferred import deferrable, deferred
from foretell.kernels.typed import all_finite, all_text, finite, typed, unchecked

TRUST, TRUST_REASON = "trust", "trust_reason"  # of a measurement's conditions
DISAGREE = "disagree"  # of conditions: whether pairs of processes differed by more than their intervals allow
REPLAYED, LIVE, IN_PROCESS = "replay", "live", "in process"  # values of TRUST
LARGEST = 1e300  # larger than any time or ratio, and smaller than what overflows


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
        return self is not Status.OK and self is not Status.INFRASTRUCTURE


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


@deferrable("message", "timings", "stopped_early", "cost", "method", "device", "conditions")
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

    @cached_property
    def device_s(self) -> float:
        return self.cost.device_s

    @property
    def trust(self) -> str | None:
        """How far from the candidate's host code a GPU's clock was: `replay`, `live` or `in process`.

        None for measurements that say nothing of it: those of a CPU, and those by the method `worker`.
        """
        return self.conditions.get(TRUST)

    @property
    def shown_faster(self) -> bool:
        """True if the whole 95 % interval lies above 1."""
        return self.ok and self.low is not None and self.low > 1.0

    @property
    def processes_disagree(self) -> bool:
        """True if it was taken in several pairs of processes whose 95 % intervals do not all overlap."""
        return self.conditions.get(DISAGREE) is True

    def contradicts(self, other: Measurement) -> bool:
        """True if the 95 % intervals of the two do not overlap."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return False
        return self.low > other.high or other.low > self.high

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
    def from_dict(data: Mapping[str, Any], make_timings: Callable[[], Mapping[str, Any]] | None = None) -> Measurement:
        """The measurement that `to_dict` described. Its timings are made by `make_timings` if that is given.

        Raises ValueError, KeyError or TypeError if it makes no sense.
        """
        status, speedup, low, high = status_of(data["status"]), data["speedup"], data["low"], data["high"]
        message, method, device = data["message"], data["method"], data["device"]
        stopped_early, cost, conditions = data["stopped_early"], _cost(data["cost"]), dict(data.get("conditions", ()))
        fields = {
            "status": status,
            "message": message,
            "speedup": speedup,
            "low": low,
            "high": high,
            "stopped_early": stopped_early,
            "cost": cost,
            "method": method,
            "device": device,
            "conditions": conditions,
        }
        _check_figures(status, speedup, low, high)
        if "others" in conditions:
            _check_contention(conditions)
        if make_timings is None:
            fields["timings"] = tuple([_timing(timing) for timing in data["timings"]])
            measurement = unchecked(Measurement, fields)
        else:
            measurement = deferred(Measurement, fields, make_timings)
        figures = () if speedup is low is high is None else (speedup, low, high)
        texts = (message, method, device, *conditions)
        if all_finite(figures) and all_text(texts) and type(stopped_early) is bool:
            return measurement
        return typed(measurement)

    @staticmethod
    def from_figures(data: Mapping[str, Any], make: Callable[[], Mapping[str, Any]]) -> Measurement:
        """A measurement of which status, speedup, interval and `device_s` are at hand; `make` gives all its fields.

        Raises ValueError, KeyError or TypeError if they make no sense.
        """
        status, speedup, low, high = status_of(data["status"]), data["speedup"], data["low"], data["high"]
        _check_figures(status, speedup, low, high)
        if not (speedup is low is high is None or all_finite((speedup, low, high))):
            typed(Measurement(status, speedup=speedup, low=low, high=high))
        device_s = data["device_s"]
        if not finite(device_s):
            raise ValueError(f"its device time is {device_s!r}")
        fields = {"status": status, "speedup": speedup, "low": low, "high": high, "device_s": device_s}
        return deferred(Measurement, fields, make)


_LEAST_SPEEDUP, _MOST_SPEEDUP = 1e-100, 1e100  # beyond which sums and powers of them overflow


def _check_figures(status: Status, speedup: float | None, low: float | None, high: float | None) -> None:
    if status is Status.OK and speedup is None:
        raise ValueError("it is ok without a speedup")
    if not all(value is None or _LEAST_SPEEDUP < value < _MOST_SPEEDUP for value in (speedup, low, high)):
        raise ValueError("its speedup is not a positive number of a size that can be measured")


def _cost(data: Mapping[str, Any]) -> Cost:
    cost = Cost(**data)
    return cost if all_finite((cost.build_s, cost.device_s, cost.wall_s)) else typed(cost)


def _check_contention(conditions: Mapping[str, Any]) -> None:
    """Raises ValueError or KeyError if the conditions of a CPU's timing are not what a report counts on."""
    if not all(finite(conditions[name]) for name in ("others", "load", "cores")):
        raise ValueError("the load of its machine is not a number")
    if not isinstance(conditions["disturbed"], bool):
        raise ValueError(f"it was disturbed: {conditions['disturbed']!r}")


def _timing(data: Mapping[str, Any]) -> Timing:
    """The timing that `to_dict` described."""
    workload, speedup, low, high = data["workload"], data["speedup"], data["low"], data["high"]
    reference_us, candidate_us = tuple(data["reference_us"]), tuple(data["candidate_us"])
    if not (reference_us and candidate_us and are_times(reference_us + candidate_us)):
        raise ValueError("a workload has samples that are not times")
    if not are_times((speedup, low, high)):
        raise ValueError("a workload has a speedup that is not a positive number")
    if not isinstance(workload, str):
        raise ValueError(f"a workload is named {workload!r}")
    return Timing(workload, reference_us, candidate_us, speedup, low, high)


def status_of(text: Any) -> Status:
    """`Status(text)` in a fraction of its time. Raises ValueError or TypeError if there is no such status."""
    return _STATUSES.get(text) or Status(text)


_STATUSES: Mapping[str, Status] = {status.value: status for status in Status}


def are_times(values: Sequence[float]) -> bool:
    """Whether all are positive and finite. Raises TypeError if one is not a number."""
    return min(values) > 0 and sum(values) < LARGEST  # a sum is not finite if one of its terms is not
