"""Time of a kernel launch on a device, from a dry run of its PTX: what each part of the device would need, and how they
overlap. Nothing here was fitted to single kernels; the few constants are in `settings.LAUNCH_MODEL`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from foretell.kernels.cost.settings import LAUNCH_MODEL
from foretell.kernels.device import Device
from foretell.kernels.languages import dry, sass
from foretell.kernels.languages.dry.numbers import BUFFER_BITS, LANES
from foretell.kernels.languages.dry.traffic import LINE_BYTES, SECTOR_BYTES, Traffic
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of, resident_blocks
from foretell.kernels.program import Image, Launch, Program
from foretell.kernels.record.parameters import parameters_of
from foretell.kernels.record.refusal import Refused

MEGA = 1e6
_ELEMENT_BYTES = dict(enumerate((1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)))  # by the driver's CUtensorMapDataType


@dataclass(frozen=True)
class LaunchTime:
    """Device time of a launch. `parts_us` are times that single parts of the device would need; `unknown` is the share
    of memory requests whose addresses depend on data; `cut` says that a warp was not followed to its end. `facts` are
    how the launch fills the device: warps at a time on a multiprocessor, waves of blocks, what a block takes."""

    us: float
    parts_us: Mapping[str, float] = field(default_factory=dict)
    unknown: float = 0.0
    cut: bool = False
    decided: bool = True
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> str:
        """The part that needs longest."""
        return max(self.parts_us, key=lambda name: self.parts_us[name], default="launch")


@dataclass(frozen=True)
class Resources:
    """What a block takes of a multiprocessor."""

    registers: float
    shared_bytes: float
    frame_bytes: float = 0.0
    spills: sass.Spills = field(default_factory=sass.Spills)


class NotFollowed(ValueError):
    """The launch cannot be followed; the message says why."""


def time_of(launch: Launch, program: Program, device: Device) -> LaunchTime:
    """Device time of one launch of a Program. Raises NotFollowed if its PTX cannot be read."""
    image = program.image(launch.image)
    seen = observed(launch, image)
    took = resources(image, launch)
    return LaunchTimer(launch, program, device, seen, took).time()


@lru_cache(maxsize=4096)
def resources(image: Image, launch: Launch) -> Resources:
    """Registers and shared memory of a launch's block, read off the machine code where there is any."""
    usual = Resources(LAUNCH_MODEL.usual_registers, float(launch.shared_bytes))
    if not image.cubin:
        return usual
    try:
        found = sass.read_cubin(image.cubin, launch.threads, launch.shared_bytes, launch.entry)
        frame = found["spill_bytes"]
        spills = sass.spills_of(image.cubin, launch.entry) if frame else sass.Spills()
    except (sass.NotACubin, ValueError, KeyError, IndexError):
        return usual
    return Resources(found["registers"], found["shared_bytes"], frame, spills)


@lru_cache(maxsize=4096)
def observed(launch: Launch, image: Image) -> dry.Observation:
    """The dry run of a launch, on whatever device. Raises NotFollowed if its PTX cannot be read."""
    if not image.ptx:
        raise NotFollowed(f"{launch.entry} has no PTX")
    try:
        layout = {each.name: each for each in parameters_of(image.ptx, launch.entry)}
    except Refused as refused:
        raise NotFollowed(refused.refusal.sentence) from refused
    pointers = {each.position: ((each.buffer + 1) << BUFFER_BITS) + each.offset_bytes for each in launch.pointers}

    def given(name: str, offset: int, width: int) -> int | None:
        if name not in layout:
            return None
        start = layout[name].offset + offset
        if width == 8 and start in pointers:
            return pointers[start]
        data = launch.arguments[start : start + width]
        return int.from_bytes(data, "little", signed=True) if len(data) == width else None

    followed = dry.Launch(launch.entry, launch.grid, launch.block, image.ptx, ())
    try:
        return dry.observe(followed, given, LAUNCH_MODEL.followed, _tile_bytes(launch))
    except dry.NotPtx as error:
        raise NotFollowed(str(error)) from error


def _tile_bytes(launch: Launch) -> int:
    """Mean bytes of the tiles that the launch's tensor maps describe; 0 if there are none."""
    tiles = [math.prod(each.box) * _ELEMENT_BYTES.get(each.element, 0) for each in launch.tensor_maps]
    return sum(tiles) // len(tiles) if tiles else 0


class LaunchTimer:
    """One launch on one device."""

    def __init__(
        self, launch: Launch, program: Program, device: Device, seen: dry.Observation, took: Resources
    ) -> None:
        self._launch, self._program, self._device, self._seen = launch, program, device, seen
        self._took = took
        capability = capability_of(device)
        self._unit = multiprocessor_of(capability)
        resident = resident_blocks(took.registers, took.shared_bytes, launch.threads, capability)
        self._resident = max(1, resident)
        self._clock = device.clock_hz * LAUNCH_MODEL.clock_share / MEGA  # cycles per microsecond
        self._warps = -(-launch.threads // LANES)
        left = self._unit.own_cache_bytes - took.shared_bytes * self._resident
        self._own_cache = max(float(LAUNCH_MODEL.least_own_cache_bytes), left)
        # The busiest multiprocessor decides: blocks are whole.
        self._per_unit = math.ceil(launch.blocks / device.cores)
        if launch.blocks > device.cores * self._resident * 4:
            self._per_unit = launch.blocks / device.cores  # type: ignore[assignment]
        self._waves = max(1.0, self._per_unit / self._resident)

    def time(self) -> LaunchTime:
        parts = self._parts()
        power = LAUNCH_MODEL.overlap_power
        # Memory is idle while few warps wait for it: these two overlap less than others do.
        apart = [value for name, value in parts.items() if name not in ("memory", "waiting", "start")]
        apart.append(math.hypot(parts["memory"], parts["waiting"]))
        longest = max(apart)
        busy = longest * sum((value / longest) ** power for value in apart) ** (1.0 / power)
        busy = max(busy, parts["start"])  # blocks start beside all that others do
        usual = self._seen.usual
        requests = sum(one.requests for one in usual.buffers.values())
        unknown = sum(one.unknown for one in usual.buffers.values())
        us = busy + LAUNCH_MODEL.fixed_us
        return LaunchTime(us, parts, unknown / max(1.0, requests), usual.cut, usual.decided, self._facts())

    def _facts(self) -> dict[str, float]:
        return {
            "warps": min(self._resident, self._per_unit) * self._warps,
            "waves": self._launch.blocks / (self._device.cores * self._resident),
            "registers": self._took.registers,
            "shared_bytes": self._took.shared_bytes,
            "frame_bytes": self._took.frame_bytes,
        }

    def _parts(self) -> dict[str, float]:
        usual, unit, per_unit, clock = self._seen.usual, self._unit, self._per_unit, self._clock
        device = self._device
        memory_bytes, (loaded, stored), lines, hits = self._traffic()
        spilled_lines, spilled, spilled_beyond = self._spilled()
        lines, memory_bytes = lines + spilled_lines, memory_bytes + spilled_beyond
        # Loads and stores go through the network between cores and cache in opposite directions.
        cache_bytes = spilled + max(loaded, stored)
        shared = sum(usual.traffic[kind].cost for kind in ("shared_load", "shared_store"))
        shared += usual.shared_atomics / LANES * LAUNCH_MODEL.shared_atomic_passes
        slots = usual.slots
        fma, alu = slots["fma"], slots["alu"] * LAUNCH_MODEL.integer_share
        issued = alu + sum(value for pipe, value in slots.items() if pipe not in ("tensor", "alu"))
        tensor_peak = device.peak_flops.get("float16", max(device.peak_flops.values())) / MEGA / device.cores
        # On units with 128 lanes half of them do either kind.
        both = fma + alu if unit.fma_lanes > unit.integer_lanes else max(fma, alu)
        arithmetic = max(alu * LANES / unit.integer_lanes, both * LANES / max(unit.fma_lanes, unit.integer_lanes))
        efficiency = LAUNCH_MODEL.issue_efficiency
        special = slots["special"] / unit.special_lanes + slots["convert"] / unit.convert_lanes
        parts = {
            "memory": memory_bytes / (device.bandwidth_bytes_per_s / MEGA * LAUNCH_MODEL.memory_efficiency),
            "cache": cache_bytes / (device.cores * unit.cache_bytes_per_clock * clock),
            "unit": cache_bytes / self._launch.blocks * per_unit / (LAUNCH_MODEL.unit_bytes_per_clock * clock),
            "lines": (lines + shared) * per_unit / clock,
            "issue": issued / 4.0 * per_unit / clock / efficiency,
            "arithmetic": arithmetic * per_unit / clock / efficiency,
            "double": slots["double"] * LANES / unit.double_lanes * per_unit / clock,
            "special": special * LANES * per_unit / clock,
            "tensor": slots["tensor"] * per_unit / tensor_peak / LAUNCH_MODEL.tensor_efficiency,
            "atomics": self._atomics(),
            "waiting": self._waiting(hits),
            "start": self._launch.blocks / (LAUNCH_MODEL.blocks_per_clock * clock),
        }
        return {name: max(value, 1e-6) for name, value in parts.items()}

    def _traffic(self) -> tuple[float, tuple[float, float], float, tuple[float, float, float]]:
        """Bytes from memory, bytes loaded and stored through the last-level cache, lines per block, and shares of
        sectors found in the multiprocessor's own cache, the last-level cache and memory."""
        blocks = self._launch.blocks
        from_memory = lines = asked = through_all = 0.0
        through_cache = {"load": 0.0, "store": 0.0}
        held = self._held()
        missed = max(0.0, 1.0 - self._own_cache / max(held, 1.0))
        lost = max(0.0, 1.0 - self._device.cache_bytes / max(held * self._device.cores, 1.0))
        for (kind, home), one in self._seen.usual.buffers.items():
            lines += max(one.lines, one.requests)
            if kind == "atomic":
                continue
            distinct = self._per_block((kind, home), one) * SECTOR_BYTES
            cost = (one.fresh if kind == "load" else max(one.cost, one.fresh)) * SECTOR_BYTES
            through = min(cost, distinct + (cost - distinct) * missed) if kind == "load" else cost
            if kind == "load":  # what neighbours ask for at a time is merged on its way to the cache (by the LRC)
                merged = self._seen.beside.get((kind, home), 0.0) / 2.0
                through_cache["load"] += through * (1.0 - merged) * blocks
            else:  # a sector that a store fills in part is read, changed and written in the cache
                through_cache["store"] += (through + max(0.0, cost - one.bytes)) * blocks
            asked += cost * blocks
            through_all += through * blocks
            size = self._size(home)
            total = through * blocks
            first = min(total, self._read_once((kind, home), size, total))
            from_memory += first + (total - first) * (lost if kind == "load" else 0.0)
        own = 1.0 - min(1.0, through_all / max(asked, 1.0))
        memory = min(1.0 - own, from_memory / max(asked, 1.0))
        both = (through_cache["load"], through_cache["store"])
        return from_memory, both, lines, (own, 1.0 - own - memory, memory)

    def _spilled(self) -> tuple[float, float, float]:
        """Lines per block of registers that did not fit, and bytes of all of them that pass the multiprocessor's own
        cache, and the last-level cache, since frames of resident threads do not fit there."""
        moved = self._took.spills.moved_bytes(self._seen.busiest.instructions) * self._launch.threads
        if not moved:
            return 0.0, 0.0, 0.0
        frames = self._took.frame_bytes * self._launch.threads * min(self._resident, self._per_unit)
        beyond = max(0.0, 1.0 - self._own_cache / max(frames, 1.0))
        lost = max(0.0, 1.0 - self._device.cache_bytes / max(frames * self._device.cores, 1.0))
        through = moved * beyond * self._launch.blocks
        return moved / LINE_BYTES, through, through * lost

    def _read_once(self, place: tuple[str, int], size: float | None, total: float) -> float:
        """Bytes of a buffer that come from memory as long as the last-level cache holds what is read again soon."""
        fits = size is not None and size <= self._device.cache_bytes * LAUNCH_MODEL.cache_share
        if size is None:
            return total
        if fits or self._streams(place, size):
            return size
        again = 1.0 if self._seen.beside.get(place, 0.0) > 0.5 else 0.5
        return size * max(1.0, self._waves * again)

    def _held(self) -> float:
        """Bytes of cache that a multiprocessor's warps use at a time: one line for each line of a request."""
        held = 0.0
        for place, one in self._seen.usual.buffers.items():
            if place[0] == "load" and one.requests:
                alike = self._seen.alike.get(place, 0.0)
                own = alike / self._warps + 1.0 - alike
                held += max(1.0, one.lines / one.requests) * LINE_BYTES * own * min(1.0, one.lanes / one.requests)
        return held * self._warps * min(self._resident, self._per_unit)

    def _streams(self, place: tuple[str, int], size: float) -> bool:
        """Whether blocks go through the buffer in the order in which they start, so that what is read again is near."""
        seen = self._seen.where.get(place, ())
        return all(abs(offset / size - fraction) <= LAUNCH_MODEL.stream_distance for fraction, offset in seen)

    def _per_block(self, place: tuple[str, int], one: Traffic) -> float:
        """Distinct sectors of a block: those that its warps share count once. Of unknown places each lane has one."""
        alike = self._seen.alike.get(place, 0.0)
        each = max(one.distinct, one.fresh * one.unknown / max(1.0, one.requests)) / self._warps
        return each * (alike + (1.0 - alike) * self._warps)

    def _size(self, home: int) -> float | None:
        """Bytes of the buffer in a range of addresses; of all that tensor maps describe if the address is unknown, as
        that of their tiles is. None if nothing is known."""
        number, buffers = home - 1, self._program.buffers
        if 0 <= number < len(buffers):
            return float(buffers[number].bytes)
        described = {each.buffer for each in self._launch.tensor_maps}
        return float(sum(buffers[each].bytes for each in described)) or None

    def _atomics(self) -> float:
        """Atomic operations: sectors at a rate of the cache, and lanes in the same sector one after the other."""
        total = 0.0
        for (kind, home), one in self._seen.usual.buffers.items():
            if kind != "atomic":
                continue
            blocks = self._launch.blocks
            size = self._size(home) or math.inf
            places = max(1.0, min(size / SECTOR_BYTES, max(one.distinct, one.fresh) * blocks))
            at_one = one.lanes * blocks / places
            spread = (
                max(one.cost, one.fresh)
                * blocks
                / (self._device.cores * LAUNCH_MODEL.atomic_sectors_per_clock * self._clock)
            )
            total += max(spread, at_one * LAUNCH_MODEL.atomic_us)
        return total

    def _waiting(self, hits: tuple[float, float, float]) -> float:
        """What the busiest warp waits for, times the waves of blocks."""
        model, busiest = LAUNCH_MODEL, self._seen.busiest
        own, cache, memory = hits
        trip = own * model.own_cache_us + cache * model.cache_us + memory * model.memory_us
        alone = busiest.instructions * model.dependent_cycles / self._clock
        alone += busiest.shared_trips * model.shared_us + busiest.classes["barrier"] * model.barrier_us
        waves = max(1.0, self._waves * self._seen.busy)
        return (busiest.rounds * trip + alone) * (math.ceil(waves) if waves < 4 else waves)
