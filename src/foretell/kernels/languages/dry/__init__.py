"""A dry run of a launch: what a few of its warps would do, counted without a GPU.

PTX is followed instruction by instruction. Whole numbers are, since they decide which way branches go and which bytes
are touched; floating-point values and whatever comes from memory are not known, and neither is what depends on them. A
branch on something unknown is not taken. Loads and stores show which 32-byte sectors and which banks of shared memory
they touch. The first visits of a block are followed in full; later ones only as far as the way on depends on them.

Four blocks are looked at, and two warps of each, the first and one in the middle; they stand for all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from foretell.kernels.languages.dry.instructions import CLASSES
from foretell.kernels.languages.dry.numbers import LANES
from foretell.kernels.languages.dry.observe import Launch, Observation, observe, observed, ready
from foretell.kernels.languages.dry.ptx import NotPtx, read_ptx
from foretell.kernels.languages.dry.traffic import SECTOR_BYTES, Counts, Traffic
from foretell.kernels.languages.dry.warp import FOLLOWED

__all__ = ["Launch", "NotPtx", "Observation", "dry_features", "observe", "run_launch"]

MOST_LAUNCHES = 8  # different ones that are followed, the largest
SCRATCH_ADDRESS = 1 << 61  # memory that the compiler asks for beside the arguments
_KINDS = ("load", "store", "shared_load", "shared_store", "atomic")


def dry_features(launches: Sequence[Launch]) -> dict[str, float]:
    """Totals over all launches as logarithms, and shares; nothing where no launch could be followed."""
    alike: dict[tuple[object, ...], list[Launch]] = {}
    for launch in launches:
        alike.setdefault((launch.name, launch.ptx, launch.grid, launch.block), []).append(launch)
    total, busiest, followed = Counts(), Counts(), 0
    for same in sorted(alike.values(), key=lambda each: -each[0].all_threads)[:MOST_LAUNCHES]:
        try:
            block, warp = run_launch(same[0])
        except NotPtx:
            continue
        followed += len(same)
        total.add(block, float(len(same) * same[0].blocks))
        busiest = max(busiest, warp, key=lambda each: each.instructions)
    if not followed:
        return {}
    found = {f"dry_{name}_log2": _log2(total.classes[name]) for name in CLASSES}
    found |= {
        "dry_issued_log2": _log2(total.instructions),
        "dry_tensor_flops_log2": _log2(total.tensor_flops),
        "dry_longest_log2": _log2(busiest.instructions),
        "dry_longest_barriers_log2": _log2(busiest.classes["barrier"]),
        "dry_trips_log2": _log2(total.trips),
        "dry_active": total.active / max(1.0, total.instructions),
        "dry_followed": followed / len(launches),
        "dry_cut": float(total.cut),
    }
    for kind in _KINDS:
        found |= {f"dry_{kind}_{name}": value for name, value in _told(kind, total.traffic[kind]).items()}
    return found


def _told(kind: str, one: Traffic) -> dict[str, float]:
    """Accesses of a kind: what they cost in bytes (passes, for shared memory), and how well they are used."""
    shared = kind.startswith("shared")
    found = {"cost_log2": _log2(one.cost * (1.0 if shared else SECTOR_BYTES))}
    if not shared:
        found["bytes_log2"] = _log2(one.distinct * SECTOR_BYTES)
    if one.requests:
        found |= {
            "use": min(1.0, one.least / one.cost),
            "lane_bytes": one.bytes / one.lanes,
            "unknown": one.unknown / one.requests,
            "lanes": one.lanes / one.requests / LANES,
        }
    return found


def _log2(value: float) -> float:
    return math.log2(1.0 + value)


def run_launch(launch: Launch) -> tuple[Counts, Counts]:
    """What a block does on average, and what the busiest warp does; NotPtx where it cannot be followed."""
    kernel = read_ptx(launch.ptx, launch.name)
    names = [name for name, _ in kernel.parameters]
    spare = len(names) - len(launch.arguments)
    if spare < 0:
        raise NotPtx(f"{launch.name} takes {len(names)} parameters, {len(launch.arguments)} were given")
    given = dict(zip(names, (*launch.arguments, *[SCRATCH_ADDRESS] * spare), strict=True))
    seen = observed(ready(kernel, lambda name, offset, _: None if offset else given.get(name)), launch, FOLLOWED)
    return seen.usual, seen.busiest
