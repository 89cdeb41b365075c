"""Instructions by which lanes of a warp see each other: shuffles, votes, matches, reductions.

Values are given and returned as (warps, 32); `active` says which lanes take part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES = 32
LANE = np.arange(LANES, dtype=np.int64)
_BITS = np.uint32(1) << np.arange(LANES, dtype=np.uint32)
Mask = NDArray[np.bool_]
Lanes = NDArray[Any]


def shuffled(mode: str, value: Lanes, by: Lanes, clamp: Lanes) -> tuple[Lanes, Mask]:
    """shfl.sync: each lane's new value, and whether it is another lane's within the segment."""
    by, clamp = by.astype(np.int64), clamp.astype(np.int64)
    step, limit, segment = by & 31, clamp & 31, (clamp >> 8) & 31
    low = LANE & segment
    most = low | (limit & ~segment)
    if mode == "up":
        source, inside = LANE - step, LANE - step >= most
    elif mode == "down":
        source, inside = LANE + step, LANE + step <= most
    elif mode == "bfly":
        source, inside = LANE ^ step, (LANE ^ step) <= most
    else:
        source = low | (step & ~segment)
        inside = source <= most
    source = np.where(inside, source, LANE)
    return np.take_along_axis(value, source & 31, axis=1), inside


def ballot(value: Mask, active: Mask) -> Lanes:
    """Bits of the lanes that say yes, the same for every lane."""
    bits = np.where(value & active, _BITS, np.uint32(0)).sum(axis=1, dtype=np.uint32)
    return np.broadcast_to(bits[:, None], value.shape)


def voted(mode: str, value: Mask, active: Mask) -> Lanes:
    """vote.sync by its mode."""
    if mode == "ballot":
        return ballot(value, active)
    some, every = (value & active).any(axis=1), (value | ~active).all(axis=1)
    found: Any = {"any": some, "all": every, "uni": every | ~some}[mode]
    return np.broadcast_to(found[:, None], value.shape)


def matched(value: Lanes, active: Mask) -> Lanes:
    """match.any: bits of the lanes with the same value."""
    same = (value[:, :, None] == value[:, None, :]) & active[:, None, :]
    bits: Lanes = np.where(same, _BITS, np.uint32(0)).sum(axis=2, dtype=np.uint32)
    return bits


_REDUCED: Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "add": (np.add.reduce, lambda kind: 0),
    "min": (np.minimum.reduce, lambda kind: np.iinfo(kind).max),
    "max": (np.maximum.reduce, lambda kind: np.iinfo(kind).min),
    "and": (np.bitwise_and.reduce, lambda kind: -1 if np.iinfo(kind).min else np.iinfo(kind).max),
    "or": (np.bitwise_or.reduce, lambda kind: 0),
    "xor": (np.bitwise_xor.reduce, lambda kind: 0),
}


def reduced(name: str, value: Lanes, active: Mask) -> Lanes:
    """redux.sync on integers."""
    function, neutral = _REDUCED[name]
    kind = value.dtype.type
    found = function(np.where(active, value, kind(neutral(kind))), axis=1).astype(kind)
    return np.broadcast_to(found[:, None], value.shape)


def first(active: Mask) -> Mask:
    """elect.sync: whether a lane is the first that takes part."""
    chosen: Mask = active & (active.argmax(axis=1)[:, None] == LANE)
    return chosen
