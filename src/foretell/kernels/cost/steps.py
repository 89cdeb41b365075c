"""Time of a whole Program on a device, step by step: launches by the dry run, library calls by their model.

`device_us` is what a graph replay would take with a cold cache; `eager_us` adds what the host needs to issue the steps
one by one, as when a model is called from Python.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foretell.kernels.cost import calls, launches
from foretell.kernels.cost.calibration import is_calibrated
from foretell.kernels.cost.settings import STEP_MODEL
from foretell.kernels.device import Device
from foretell.kernels.operators import family_of
from foretell.kernels.program import (
    Allocate,
    Copy,
    Fill,
    Fork,
    Join,
    Launch,
    LibraryCall,
    Program,
    Step,
    SymbolUpload,
    buffers_read,
    buffers_written,
)

MEGA = 1e6
TOO_LONG, UNKNOWN_ADDRESSES, UNKNOWN_BRANCHES = (
    "too long to follow to its end", "addresses depend on data", "branches depend on data"
)  # fmt: skip


@dataclass(frozen=True)
class StepTime:
    """Device time of one step. `key` is the same for steps that do the same work, `basis` says how it was found, and
    `reason` why it is doubtful; `facts` are those of a launch."""

    at: int
    label: str
    us: float
    doubt_log2: float
    basis: str
    key: str
    reason: str = ""
    parts_us: Mapping[str, float] | None = None
    facts: Mapping[str, float] | None = None


@dataclass(frozen=True)
class ProgramTime:
    """Times of a Program's run and of its steps; `device_us` is less than their sum if streams overlap."""

    steps: tuple[StepTime, ...]
    device_us: float
    eager_us: float
    host_us: float

    @property
    def doubt_log2(self) -> float:
        """Standard deviation of log2 of the device time; errors of steps are taken to go the same way."""
        total = sum(step.us for step in self.steps)
        return sum(step.us * step.doubt_log2 for step in self.steps) / total if total else STEP_MODEL.unknown_log2


def times_of(program: Program, device: Device) -> ProgramTime:
    """Device and eager time of a Program's run, with the times of its steps."""
    steps: list[StepTime] = []
    clocks: dict[int, float] = {0: 0.0}
    host_us, issued = 0.0, 0
    rehearsed = _rehearsed(program)
    for at, step in enumerate(program.run):
        match step:
            case _ if at in rehearsed:
                continue
            case Allocate():
                host_us += STEP_MODEL.allocate_host_us
            case Fork():
                clocks[step.stream] = max(clocks.get(step.stream, 0.0), clocks.get(step.parent, 0.0))
            case Join():
                clocks[step.parent] = max(clocks.get(step.stream, 0.0), clocks.get(step.parent, 0.0))
            case _:
                timed = _timed(at, step, program, device)
                host_us += _host_us(step, warm=issued >= STEP_MODEL.warm_calls)
                issued += isinstance(step, LibraryCall)
                if timed is None:
                    continue
                steps.append(timed)
                gained = STEP_MODEL.between_us if clocks.get(step.stream) else 0.0
                clocks[step.stream] = clocks.get(step.stream, 0.0) + max(STEP_MODEL.least_us, timed.us - gained)
    total = sum(max(STEP_MODEL.least_us, step.us - STEP_MODEL.between_us) for step in steps)
    device_us = max(*clocks.values(), STEP_MODEL.stream_share * total, STEP_MODEL.least_us)
    power = STEP_MODEL.eager_power
    eager_us = STEP_MODEL.start_us + (host_us**power + device_us**power) ** (1.0 / power)
    return ProgramTime(tuple(steps), device_us, eager_us, host_us)


def _rehearsed(program: Program) -> set[int]:
    """Library calls whose results nothing reads and that are made once more, with results that are read.

    Host code warms up before it captures a CUDA graph, once in a real run; what is recorded, without a graph, does so
    in every run.
    """
    live = {view.buffer for view in program.outputs}
    unread, used = [], set()
    for at in range(len(program.run) - 1, -1, -1):
        step = program.run[at]
        if not buffers_written(step) & live:
            if isinstance(step, LibraryCall):
                unread.append((at, _key(step)))
            continue
        live |= buffers_read(step)
        if isinstance(step, LibraryCall):
            used.add(_key(step))
    return {at for at, key in unread if key in used}


def _host_us(step: Step, warm: bool) -> float:
    if isinstance(step, LibraryCall):
        costs = STEP_MODEL.call_host_us
        cost = costs.get(step.name, costs.get(family_of(step.operator) or "", STEP_MODEL.usual_call_host_us))
        return cost * STEP_MODEL.later_share if warm else cost
    return STEP_MODEL.launch_host_us


def _timed(at: int, step: Step, program: Program, device: Device) -> StepTime | None:
    """The step's time; None if it gives the device nothing to do."""
    match step:
        case LibraryCall():
            return _call(at, step, device)
        case Launch():
            return _launch(at, step, program, device)
        case Fill():
            us = STEP_MODEL.fixed_us + step.region.bytes / _bandwidth(device)
            return StepTime(at, "memset", us, STEP_MODEL.copy_log2, "roofline", f"fill {step.region.bytes}")
        case Copy() | SymbolUpload():
            size = len(step.source) if isinstance(step.source, bytes) else step.source.bytes
            rate = STEP_MODEL.host_bytes_per_us if isinstance(step.source, bytes) else _bandwidth(device) / 2.0
            us = STEP_MODEL.fixed_us + size / rate
            return StepTime(at, "copy", us, STEP_MODEL.copy_log2, "roofline", f"copy {size}")
    return None


def _bandwidth(device: Device) -> float:
    return device.bandwidth_bytes_per_s / MEGA * STEP_MODEL.copy_efficiency


def _call(at: int, call: LibraryCall, device: Device) -> StepTime | None:
    if call.name.startswith(("empty", "new_empty")) or not any((*call.results, *call.mutated)):
        return None
    found = calls.time_of(call, device)
    elsewhere = 0.0 if "H200" in device.name or is_calibrated(device) else STEP_MODEL.other_device_log2
    doubt = math.hypot(found.doubt_log2, elsewhere) * STEP_MODEL.call_spread
    parts = {"memory": found.memory_us, "arithmetic": found.compute_us}
    return StepTime(at, call.name, found.us, doubt, f"measured {found.kind}", _key(call), "", parts)


def _key(call: LibraryCall) -> str:
    def plain(value: Any) -> str:
        if isinstance(value, tuple):
            return f"({','.join(map(plain, value))})"
        return f"{value.dtype}{value.shape}{value.strides}" if hasattr(value, "strides") else repr(value)

    return f"{call.operator}{plain(call.arguments)}"


def _launch(at: int, launch: Launch, program: Program, device: Device) -> StepTime:
    key = f"{launch.image} {launch.entry} {launch.grid} {launch.block}"
    try:
        found = launches.time_of(launch, program, device)
    except launches.NotFollowed as error:
        touched = {pointer.buffer for pointer in launch.pointers} | {each.buffer for each in launch.tensor_maps}
        size = sum(program.buffers[number].bytes for number in touched)
        us = STEP_MODEL.fixed_us + size / _bandwidth(device)
        return StepTime(at, launch.entry, us, STEP_MODEL.unknown_log2, "roofline", key, str(error))
    doubt, reasons = STEP_MODEL.launch_log2.get(found.bound, STEP_MODEL.usual_launch_log2), []
    for holds, added, reason in (
        (found.cut, STEP_MODEL.cut_log2, TOO_LONG),
        (found.unknown > STEP_MODEL.unknown_share, STEP_MODEL.data_log2, UNKNOWN_ADDRESSES),
        (not found.decided, STEP_MODEL.branch_log2, UNKNOWN_BRANCHES),
    ):
        if holds:
            doubt = math.hypot(doubt, added)
            reasons.append(reason)
    return StepTime(at, launch.entry, found.us, doubt, "dry run", key, ", ".join(reasons), found.parts_us, found.facts)
