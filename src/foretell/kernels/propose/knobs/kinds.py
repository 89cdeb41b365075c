"""What a tunable constant is for, by its name, and the values that are worth trying for it."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Kind(StrEnum):
    """What a knob changes, the most rewarding first: if there are too many knobs, the last kinds are left out."""

    WARPS = "warps"
    THREADS = "threads"
    TILE = "tile"
    ITEMS = "items"
    VECTOR = "vector"
    STAGES = "stages"
    LOOP = "loop"
    BLOCKS = "blocks"
    UNROLL = "unroll"
    OCCUPANCY = "occupancy"
    REGISTERS = "registers"
    HINT = "hint"
    GROUP = "group"


_BOUNDS = {
    Kind.THREADS: (32, 1024),
    Kind.TILE: (1, 65536),
    Kind.ITEMS: (1, 64),
    Kind.BLOCKS: (1, 65536),
    Kind.UNROLL: (1, 32),
}
_REACH = {Kind.TILE: 8, Kind.ITEMS: 8, Kind.BLOCKS: 8, Kind.UNROLL: 8}  # how many times more or less than in the source
_LISTED = {
    Kind.WARPS: (1, 2, 4, 8, 16),
    Kind.STAGES: (1, 2, 3, 4, 5, 6),
    Kind.REGISTERS: (32, 64, 96, 128, 168, 0),  # 0: as many as it takes
    Kind.OCCUPANCY: (0, 1, 2, 3, 4, 6, 8),
    Kind.VECTOR: (1, 2, 4, 8),
    Kind.GROUP: (1, 2, 4, 8, 16),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FIXED = frozenset(
    {"head", "heads", "dim", "dims", "hidden", "channels", "vocab", "seq", "batch", "classes", "experts", "stride",
     "strides", "pad", "padding", "kernel", "lane", "mask", "groups", "bits", "quant", "wmma", "mma", "align",
     "alignment", "idx", "index", "id", "offset", "base", "eps", "axis", "device", "dev", "mode", "rank", "iters",
     "topk", "window"}
)  # fmt: skip
_SHAPED_DIMENSIONS = frozenset({"block", "tile", "thread", "threads"})  # BLOCK_DIM is a block size, HEAD_DIM is not
_LETTER = re.compile(r"k?(?:b|bl|blk|t|w)[mnkxyzcdhpqrstlw]\d?", re.IGNORECASE)


@lru_cache(maxsize=1024)  # limits ask for each setting
def kind_of(name: str) -> Kind | None:
    """What a constant of that name is for; None if nothing says that it may be changed."""
    words = [word.lower() for word in _WORD.findall(name.replace("_", " "))]
    said = set(words)
    if said & (_FIXED - ({"dim", "dims"} if said & _SHAPED_DIMENSIONS else set())) or not words:
        return None
    if _LETTER.fullmatch(name):
        return Kind.TILE
    joined = "".join(words)
    if joined in ("warpsize", "kwarpsize", "fullmask", "warpthreads"):
        return None
    return next((kind for kind, pattern in _NAMES if pattern.search(" ".join(words))), None)


_NAMES = tuple(
    (kind, re.compile(rf"\b(?:{pattern})\b"))
    for kind, pattern in (
        (Kind.VECTOR, r"vec|vector|vec size|vec width|pack|packed"),
        (Kind.UNROLL, r"unroll|ilp"),
        (Kind.STAGES, r"stages|stage|pipeline|prefetch"),
        (Kind.ITEMS, r"per (?:thread|lane|warp|program)"),
        (Kind.ITEMS, r"ept|ipt|vpt|epi|steps|coarsen|coarse|thread tile|elems|items|repeat"),
        (Kind.OCCUPANCY, r"min (?:blocks|ctas)|(?:blocks|ctas) per sm|occupancy|ctas"),
        (Kind.BLOCKS, r"blocks|max blocks|num blocks|grid|splits?|split k|waves|programs|num programs|ctas|partitions"),
        (Kind.WARPS, r"warps|num warps|warps per block|nwarps|n warps"),
        (Kind.THREADS, r"threads|nthreads|num threads|thread|threads per block|ntid"),
        (Kind.GROUP, r"group|swizzle"),
        (Kind.TILE, r"block|tile|chunk|bs|blk|rows|cols|segment|seg|panel|slab"),
    )
)  # fmt: skip


def ladder(kind: Kind, value: int) -> tuple[int, ...]:
    """The values to try for a knob, from the least to the most, the one in the source among them.

    Powers of two stay powers of two; thread counts stay multiples of a warp.
    """
    if kind in _LISTED:
        listed = _LISTED[kind]
        return listed if value in listed else tuple(sorted({*listed, value}))
    low, high = _BOUNDS[kind]
    if value < 1:
        return (value,)
    reach = _REACH.get(kind, 64)
    powers = [1 << i for i in range(low.bit_length() - 1, high.bit_length()) if low <= 1 << i <= high]
    near = [power for power in powers if value / reach <= power <= value * reach]
    if value & (value - 1) == 0:
        return tuple(sorted({*near, value}))
    if kind is Kind.THREADS:
        return tuple(sorted({*near, value}))
    scaled = (
        [value // 4, value // 2, value * 2, value * 4] if value >= 16 else [value - 1, value + 1, value // 2, value * 2]
    )
    return tuple(sorted({value, *(one for one in scaled if low <= one <= high)}))
