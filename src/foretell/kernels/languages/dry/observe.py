"""A launch as seen by a few of its warps: four blocks of its grid, and two warps of each, the first and one in the
middle; they stand for all others. If a block has nothing to do, sixteen are looked at, to see which share has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from foretell.kernels.languages.dry.numbers import BUFFER_BITS, LANE, LANES
from foretell.kernels.languages.dry.program import Parameters, Program
from foretell.kernels.languages.dry.ptx import Kernel, NotPtx, read_ptx
from foretell.kernels.languages.dry.traffic import SECTOR_BYTES, Counts
from foretell.kernels.languages.dry.warp import Warp

_BLOCKS = ((0.6, 0.1, 0.35), (0.1, 0.6, 0.85), (0.35, 0.85, 0.1), (0.85, 0.35, 0.6))  # where, along the grid's axes
# Sixteen blocks, one for each sixteenth of every axis and for each square of four by four of the first two.
_MORE_BLOCKS = tuple(
    ((4 * i + j + 0.5) / 16, (4 * j + i + 0.5) / 16, ((5 * (4 * i + j)) % 16 + 0.5) / 16)
    for i in range(4)
    for j in range(4)
)
_SECTOR_BITS = BUFFER_BITS - int(math.log2(SECTOR_BYTES))

Shares = dict[tuple[str, int], list[float]]


@dataclass(frozen=True)
class Launch:
    """A launch: arguments as the kernel gets them, None where one is no whole number."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    ptx: str
    arguments: tuple[int | None, ...]

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """Of a block."""
        return math.prod(self.block)

    @property
    def all_threads(self) -> int:
        return self.blocks * self.threads


@dataclass(frozen=True)
class Observation:
    """What was seen of a launch: `usual` is a block on average, `busiest` the warp with most instructions.

    `alike` is, by kind of access and range of addresses, the share of its sectors that a warp has in common with
    another of its block; `beside` the share that a block has in common with the next block. `where` are, by the same,
    pairs of a block's place in the grid (0 to 1) and the mean offset in bytes of what it touches. `busy` is the share
    of blocks that touch memory at all.
    """

    usual: Counts
    busiest: Counts
    alike: Mapping[tuple[str, int], float] = field(default_factory=dict)
    beside: Mapping[tuple[str, int], float] = field(default_factory=dict)
    where: Mapping[tuple[str, int], Sequence[tuple[float, float]]] = field(default_factory=dict)
    busy: float = 1.0


def observe(launch: Launch, given: Parameters, followed: int, tile_bytes: int = 0) -> Observation:
    """A launch whose parameters `given` tells, more closely: `followed` visits of each block, and what warps share.

    `tile_bytes` are those of a tile that a tensor map stores.
    """
    program = ready(read_ptx(launch.ptx, launch.name), given, tile_bytes)
    return observed(program, launch, followed, sharing=True)


def ready(kernel: Kernel, given: Parameters, tile_bytes: int = 0) -> Program:
    """The kernel made ready; NotPtx where it cannot be followed."""
    try:
        return Program(kernel, given, tile_bytes)
    except (IndexError, ValueError, KeyError) as error:
        raise NotPtx(f"{kernel.name} cannot be followed: {error}") from error


def observed(program: Program, launch: Launch, followed: int, sharing: bool = False) -> Observation:
    """What a launch's warps do; with `sharing`, which sectors they have in common, and whether all blocks work."""
    found = _observed(program, launch, followed, sharing, _BLOCKS)
    if not sharing or found.busy == 1.0:
        return found
    more = _observed(program, launch, followed, sharing, _MORE_BLOCKS)
    return more if more.busy else replace(found, busy=1.0)


def _observed(
    program: Program, launch: Launch, followed: int, sharing: bool, shares: Sequence[Sequence[float]]
) -> Observation:
    warps = -(-launch.threads // LANES)
    places = sorted({tuple(int(n * share) for n, share in zip(launch.grid, at, strict=True)) for at in shares})
    busy = 0
    usual, busiest = Counts(), Counts()
    alike: Shares = {}
    beside: Shares = {}
    where: dict[tuple[str, int], list[tuple[float, float]]] = {}
    seen_blocks = 0
    for place in places:
        if sharing and usual.cut:  # one block was long enough
            break
        touched, works = [], False
        for warp, times in ((0, 1), (warps // 2, warps - 1))[: min(warps, 2)]:
            runner, one = _run(program, launch, place, warp, followed)
            touched.append(runner.touched)
            works = works or bool(one.traffic)
            usual.add(one, float(times))
            busiest = max(busiest, one, key=lambda each: each.instructions)
        seen_blocks += 1
        busy += works
        if sharing:
            for key, offset in _offsets(touched[0]).items():
                where.setdefault(key, []).append((_fraction(place, launch.grid), offset))
        if sharing and len(touched) == 2:
            _share(touched[0], touched[1], alike)
        if sharing and touched[0] and not usual.cut and (next_place := _next(place, launch.grid)) is not None:
            neighbour, _ = _run(program, launch, next_place, 0, followed)
            _share(touched[0], neighbour.touched, beside)
    mean = Counts()
    mean.add(usual, 1.0 / seen_blocks)
    return Observation(mean, busiest, _means(alike), _means(beside), where, busy / seen_blocks)


def _fraction(place: Sequence[int], grid: Sequence[int]) -> float:
    """Where a block is among those of its grid, in the order in which they start: 0 to 1."""
    number = place[0] + grid[0] * (place[1] + grid[1] * place[2])
    return number / max(1, math.prod(grid) - 1)


def _offsets(touched: Mapping[str, set[int]]) -> dict[tuple[str, int], float]:
    """Mean offset in bytes of the sectors touched, by kind and range of addresses."""
    found: dict[tuple[str, int], list[int]] = {}
    for kind, sectors in touched.items():
        for sector in sectors:
            found.setdefault((kind, sector >> _SECTOR_BITS), []).append(sector & ((1 << _SECTOR_BITS) - 1))
    return {key: sum(values) / len(values) * SECTOR_BYTES for key, values in found.items()}


def _next(place: Sequence[int], grid: Sequence[int]) -> tuple[int, ...] | None:
    """The block that is started after the one at `place`, or before it if it is the last; None if it is alone."""
    for axis in range(3):
        if grid[axis] > 1:
            step = 1 if place[axis] + 1 < grid[axis] else -1
            return tuple(at + step * (number == axis) for number, at in enumerate(place))
    return None


def _share(first: Mapping[str, set[int]], second: Mapping[str, set[int]], into: Shares) -> None:
    for kind, sectors in first.items():
        homes: dict[int, list[int]] = {}
        for sector in sectors:
            homes.setdefault(sector >> _SECTOR_BITS, []).append(sector)
        other = second.get(kind, set())
        for home, members in homes.items():
            into.setdefault((kind, home), []).append(sum(sector in other for sector in members) / len(members))


def _means(shares: Mapping[tuple[str, int], list[float]]) -> dict[tuple[str, int], float]:
    return {place: sum(values) / len(values) for place, values in shares.items()}


def _run(program: Program, launch: Launch, place: Sequence[int], number: int, followed: int) -> tuple[Warp, Counts]:
    """A warp that was followed; one that would go on for long because of what is unknown takes the shorter ways."""
    warp = _warp(program, launch, place, number, followed)
    counts = warp.run()
    if counts.cut and not counts.decided:
        warp = _warp(program, launch, place, number, followed, hasty=True)
        counts = warp.run()
    return warp, counts


def _warp(
    program: Program, launch: Launch, place: Sequence[int], number: int, followed: int, hasty: bool = False
) -> Warp:
    """A warp of the block at a place in the grid."""
    linear = number * LANES + LANE
    width, height, _ = launch.block
    lanes = {"x": linear % width, "y": linear // width % height, "z": linear // (width * height)}
    own: dict[str, object] = {"%laneid": LANE, "%warpid": number}
    for axis, letter in enumerate("xyz"):
        own[f"%ntid.{letter}"] = launch.block[axis]
        own[f"%nctaid.{letter}"] = launch.grid[axis]
        own[f"%ctaid.{letter}"] = place[axis]
        own[f"%tid.{letter}"] = lanes[letter] if launch.block[axis] > 1 else 0
    registers = list(program.start)
    for name, value in own.items():
        if name in program.places:
            registers[program.places[name]] = value
    return Warp(program, registers, linear < launch.threads, followed, hasty)
