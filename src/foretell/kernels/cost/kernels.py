"""A kernel launch of a Program without a device: what its machine code holds, and what a dry run of its PTX counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from foretell.kernels.device import Device
from foretell.kernels.languages.sass import NotACubin
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of
from foretell.kernels.program import Launch, Program
from foretell.kernels.record.parameters import Parameter, parameters_of
from foretell.kernels.record.refusal import Refused
from foretell.kernels.record.tracing import Launched, launch_features

_APART_BYTES = 1 << 42  # buffers lie this far apart
_WORD_BYTES = 8


@dataclass(frozen=True)
class Kernel:
    """One launch on a device.

    Shares are between 0 and 1, None if there is no such access: `coalescing` is the fewest sectors that could hold
    the bytes of loads and stores over the sectors that they touch, `bank_use` the same of passes over the banks of
    shared memory. `waves` is how often the grid fills the device, `traffic_bytes` what is moved to and from memory, as
    far as the kernel could be followed.
    """

    entry: str
    blocks: int
    threads: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    occupancy: float
    waves: float
    load_coalescing: float | None
    store_coalescing: float | None
    bank_use: float | None
    tensor_cores: bool
    traffic_bytes: float


def launched(program: Program, launch: Launch) -> Launched | None:
    """A launch as the dry run takes it; None if its image holds no machine code or its parameters cannot be read."""
    image = program.image(launch.image)
    try:
        parameters = parameters_of(image.ptx, launch.entry)
    except (Refused, ValueError):
        return None
    if image.cubin is None:
        return None
    places = {pointer.position: (pointer.buffer + 1) * _APART_BYTES + pointer.offset_bytes
              for pointer in launch.pointers}  # fmt: skip
    values = tuple(_value(launch.arguments, each, places) for each in parameters)
    return Launched(launch.entry, launch.grid, launch.block, image.ptx, values, launch.shared_bytes, image.cubin)


def _value(block: bytes, parameter: Parameter, places: dict[int, int]) -> int | None:
    if parameter.offset in places:
        return places[parameter.offset]
    if parameter.type.startswith("f") or parameter.size > _WORD_BYTES:
        return None
    return int.from_bytes(block[parameter.offset : parameter.offset + parameter.size], "little", signed=True)


def features_of(program: Program, device: Device) -> dict[str, float]:
    """Build features of a Program's launches for a forecaster, as a build gives them; empty if it launches nothing."""
    found = [launched(program, step) for step in program.launches()]
    known = [each for each in found if each is not None]
    if not known:
        return {}
    try:
        return launch_features(known, capability_of(device))
    except NotACubin:
        return {}


def kernel_of(program: Program, launch: Launch, device: Device) -> Kernel:
    """What is known of one launch on a device."""
    one = launched(program, launch)
    try:
        features = launch_features([one], capability_of(device)) if one is not None else {}
    except NotACubin:
        features = {}
    occupancy = features.get("occupancy", 0.0)
    waves = _waves(launch, occupancy, device)
    traffic = _count(features, "load_bytes") + _count(features, "store_bytes")
    touched = sum(program.buffers[number].bytes for number in {pointer.buffer for pointer in launch.pointers})
    if touched:  # what several warps read comes from a cache the second time
        traffic = min(traffic, float(touched))
    return Kernel(
        entry=launch.entry,
        blocks=launch.blocks,
        threads=launch.threads,
        registers=int(features.get("registers", 0)),
        spill_bytes=int(features.get("spill_bytes", 0)),
        shared_bytes=int(features.get("shared_bytes", launch.shared_bytes)),
        occupancy=occupancy,
        waves=waves,
        load_coalescing=features.get("dry_load_use"),
        store_coalescing=features.get("dry_store_use"),
        bank_use=_least(features.get("dry_shared_load_use"), features.get("dry_shared_store_use")),
        tensor_cores=_count(features, "tensor_flops") > 0,
        traffic_bytes=traffic,
    )


def _count(features: dict[str, float], name: str) -> float:
    return math.exp2(features.get(f"dry_{name}_log2", 0.0)) - 1.0


def _least(*shares: float | None) -> float | None:
    return min((share for share in shares if share is not None), default=None)


def _waves(launch: Launch, occupancy: float, device: Device) -> float:
    holds = multiprocessor_of(capability_of(device))
    per_core = max(1, math.floor(max(occupancy, 1 / 64) * holds.threads / max(32, launch.threads)))
    return launch.blocks / (max(1, device.cores) * per_core)
