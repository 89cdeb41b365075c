"""Where the time of a Program goes: every step with its time, what it moves, what it computes and what limits it.

Times are those of `steps`, estimates without a device; traffic of library calls is that of their views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from foretell.kernels.cost.flops import flops_of
from foretell.kernels.cost.kernels import Kernel, kernel_of
from foretell.kernels.cost.settings import STEP_MODEL
from foretell.kernels.cost.steps import StepTime, times_of
from foretell.kernels.device import Device
from foretell.kernels.program import Copy, Fill, Launch, LibraryCall, Program, View

LIBRARY_CALL = "library call"  # a kind of Part
_GATHERS = frozenset({"embedding", "index", "index_select", "gather", "_unsafe_index", "take"})


@dataclass(frozen=True)
class Part:
    """One step, or several alike: `count` of them.

    `limit` is the part of the device that takes longest (`memory`, `arithmetic`, `waiting`, ...), `launch` if none
    takes as long as giving the device something to do. `basis` says how the time was found. `kernel` is None for all
    but launches.
    """

    name: str
    kind: str
    seconds: float
    flops: float
    moved_bytes: float
    limit: str
    basis: str
    kernel: Kernel | None = None
    count: int = 1


@dataclass(frozen=True)
class Breakdown:
    """The parts of a Program's run, the longest first, and the time of the whole."""

    parts: tuple[Part, ...]
    steps: int
    seconds: float
    moved_bytes: float


def breakdown(program: Program, device: Device) -> Breakdown:
    """Where the time of a Program's run goes on a device."""
    times = times_of(program, device)
    parts = [_part(program, device, time) for time in times.steps]
    moved = sum(part.moved_bytes for part in parts)
    return Breakdown(tuple(_gathered(parts)), len(parts), times.device_us * 1e-6, moved)


def _part(program: Program, device: Device, time: StepTime) -> Part:
    step = program.run[time.at]
    seconds, limit = time.us * 1e-6, _limit(time.us, time.parts_us)
    match step:
        case LibraryCall():
            return Part(time.label, LIBRARY_CALL, seconds, flops_of(step), _moved_bytes(step), limit, time.basis)
        case Launch():
            kernel = kernel_of(program, step, device)
            return Part(time.label, "kernel", seconds, 0.0, kernel.traffic_bytes, limit, time.basis, kernel)
        case Fill():
            moved = float(step.region.bytes)
        case Copy():
            moved = 2.0 * step.target.bytes
        case _:
            moved = 0.0
    return Part(time.label, time.label, seconds, 0.0, moved, "memory", time.basis)


def _limit(us: float, parts_us: Mapping[str, float] | None) -> str:
    if not parts_us:
        return "unknown"
    name = max(parts_us, key=parts_us.__getitem__)
    return name if parts_us[name] > 0.5 * us or us > 4 * STEP_MODEL.fixed_us else "launch"


def _gathered(parts: Sequence[Part]) -> list[Part]:
    """Parts of one name and limit as one, the longest first."""
    groups: dict[tuple[str, str, str], Part] = {}
    for part in parts:
        key = (part.kind, part.name, part.limit)
        before = groups.get(key)
        groups[key] = part if before is None else replace(
            before, seconds=before.seconds + part.seconds, flops=before.flops + part.flops,
            moved_bytes=before.moved_bytes + part.moved_bytes, count=before.count + part.count,
            kernel=_larger(before.kernel, part.kernel),
        )  # fmt: skip
    return sorted(groups.values(), key=lambda part: -part.seconds)


def _larger(a: Kernel | None, b: Kernel | None) -> Kernel | None:
    if a is None or b is None:
        return a or b
    return max(a, b, key=lambda kernel: kernel.blocks * kernel.threads)


def _moved_bytes(call: LibraryCall) -> float:
    """Bytes that a call reads and writes, each once; of a table that is gathered from, no more than is taken."""
    written = list(dict.fromkeys([*(view for view in call.results if view is not None), *call.mutated]))
    overwritten = {value for name, value in call.keywords if name == "out" and isinstance(value, View)}
    read = [view for view in dict.fromkeys(call.tensors()) if view not in overwritten]
    moved = sum(view.distinct_bytes for view in (*read, *written))
    if call.name in _GATHERS and written:
        taken = 2 * sum(view.distinct_bytes for view in written)
        moved = min(moved, taken + sum(view.distinct_bytes for view in read if view.dtype in ("int64", "int32")))
    return float(moved)
