"""What the matrix products in `products` differ in, their knobs, and which settings of these make sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foretell.kernels.propose.template import Knobs

Tile = tuple[int, int, int]

# Tiles (rows, columns, depth) and the warps that suit each, the plainest first.
_WIDE: Mapping[Tile, tuple[int, ...]] = {
    (64, 64, 32): (4, 2, 8),
    (16, 64, 64): (4, 2),
    (32, 32, 32): (4, 1, 2),
    (64, 64, 64): (4, 8),
    (128, 64, 32): (4, 8),
    (64, 128, 64): (4, 8),
    (128, 128, 32): (4, 8),
    (128, 128, 64): (8, 4),
    (64, 256, 32): (4, 8),
    (128, 256, 64): (8,),
    (256, 128, 64): (8,),
}
# Two sums a tile: half the columns.
PAIRED: Mapping[Tile, tuple[int, ...]] = {
    (64, 64, 32): (4, 2, 8),
    (16, 64, 64): (4, 2),
    (32, 32, 32): (4, 1, 2),
    (64, 32, 64): (4, 8),
    (64, 64, 64): (4, 8),
    (128, 64, 32): (4, 8),
    (64, 128, 64): (4, 8),
    (128, 64, 64): (8, 4),
    (128, 128, 32): (8, 4),
    (128, 128, 64): (8,),
    (256, 64, 64): (8,),
}
FLOATS: Mapping[Tile, tuple[int, ...]] = {
    (32, 32, 32): (4, 1, 2),
    (16, 64, 32): (4, 2),
    (64, 32, 16): (4, 2),
    (64, 64, 16): (4, 2, 8),
    (64, 64, 32): (4, 8),
    (128, 64, 16): (4, 8),
    (64, 128, 32): (4, 8),
    (128, 128, 16): (4, 8),
    (128, 128, 32): (8,),
}
BYTES: Mapping[Tile, tuple[int, ...]] = {
    (64, 64, 64): (4, 2, 8),
    (32, 32, 64): (4, 1, 2),
    (16, 64, 128): (4, 2),
    (64, 64, 128): (4, 8),
    (128, 64, 64): (4, 8),
    (64, 128, 128): (4, 8),
    (128, 128, 64): (4, 8),
    (128, 128, 128): (8, 4),
    (64, 256, 64): (4, 8),
    (128, 256, 64): (8,),
    (256, 128, 64): (8,),
}
SKINNY: Mapping[Tile, tuple[int, ...]] = {
    (16, 64, 64): (4, 2),
    (16, 32, 128): (4, 2),
    (16, 128, 64): (4, 8),
    (16, 64, 256): (4, 8),
    (16, 128, 128): (4, 8),
    (32, 64, 64): (4, 2),
    (32, 64, 128): (4,),
    (64, 32, 64): (4, 2),
    (64, 64, 64): (4, 8),
    (64, 64, 128): (4, 8),
    (64, 128, 64): (4, 8),
    (64, 128, 128): (8,),
    (64, 256, 64): (8,),
}
# Tiles summed lane by lane, without the matrix instruction.
_LANES: tuple[Tile, ...] = ((16, 16, 16), (8, 32, 16), (16, 32, 8), (32, 32, 8))
_SHARED_BYTES = 220 * 1024
_SHAPES = ("tile", "grouped", "persistent", "atomic", "parts", "lanes")


@dataclass(frozen=True)
class Product:
    """`turned`: the first factor lies K x M; `across`: the second lies N x K; `gathered`: a second factor a group.

    `late` are the inputs that only the finish reads; `finish` turns `acc` (and `acc1`) into the result and `bent` is
    a mistake in it. With `fold` the result is the sum of each row. `own` are shapes that this product alone has.
    """

    tiles: Mapping[Tile, tuple[int, ...]] = field(default_factory=lambda: _WIDE)
    factors: tuple[str, ...] = ("b",)
    late: tuple[str, ...] = ()
    finish: tuple[str, ...] = ()
    bent: tuple[str, ...] = ()
    turned: bool = False
    across: bool = False
    gathered: bool = False
    fold: bool = False
    total: str = "tl.float32"
    own: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ("",)

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("a", *self.factors, *self.late)))

    @property
    def item_bytes(self) -> int:
        return 1 if self.total == "tl.int32" else 4 if len(self.precisions) > 1 else 2

    @property
    def skinny(self) -> bool:
        return self.tiles is SKINNY


def knobs_of(product: Product) -> dict[str, tuple[object, ...]]:
    slips = ["none", "undefined", "unmasked", "narrow", "empty", "halved"]
    slips += ["bent"] if product.bent else []
    slips += ["coarse"] if len(product.precisions) > 1 else []
    dropped = {"grouped", "persistent", "lanes"} if product.skinny else {"parts"} if product.fold else set()
    return {
        "shape": (*(shape for shape in _SHAPES if shape not in dropped), *product.own),
        "tile": (*product.tiles, *(tile for tile in _LANES if not product.skinny)),
        "warps": (4, 1, 2, 8),
        "stages": (3, 1, 2, 4, 5),
        "group": (8, 4, 16),
        "splits": (1, 2, 4, 8, 16, 32) if product.skinny else (1, 2, 4, 8),
        "walk": ("index", "advance", "descriptor"),
        "precision": product.precisions,
        "slip": tuple(slips),
    }


def _departures(product: Product, knobs: Knobs) -> int:
    """How many of the lesser knobs are not at their usual value."""
    usual = product.tiles.get(knobs["tile"], (4,))[0]
    other = knobs["precision"] != product.precisions[0]
    return sum(map(bool, (knobs["warps"] != usual, knobs["stages"] != 3, knobs["group"] != 8, other)))


def valid(product: Product, knobs: Knobs) -> bool:
    shape, tile, walk, splits, stages = (knobs[name] for name in ("shape", "tile", "walk", "splits", "stages"))
    m, n, depth = tile
    away = _departures(product, knobs)
    if shape == "lanes":
        right = tile in _LANES and splits == 1 and knobs["group"] == 8 and walk == "index" and knobs["slip"] == "none"
        return bool(right and stages == 3 and knobs["warps"] > 1 and knobs["precision"] == product.precisions[0])
    if knobs["warps"] not in product.tiles.get(tile, ()):
        return False
    if (splits > 1) != (shape == "atomic") and not (shape == "parts" and splits > 1):
        return False
    if shape not in ("grouped", "persistent") and knobs["group"] != 8:
        return False
    if stages * (m + n * len(product.factors)) * depth * product.item_bytes > _SHARED_BYTES:
        return False
    if product.skinny:
        sound = _skinny_valid(knobs, away)
    elif shape == "tile":
        sound = away <= (walk == "index") and not (walk == "descriptor" and m * n < 64 * 64) and stages != 5
    elif shape in ("grouped", "persistent"):
        sound = m * n >= 64 * 64 and m >= 64 and walk != "index" and away <= 1
        sound = sound and (stages in (3, 4) or (stages == 5 and walk == "descriptor"))
        sound = sound and (knobs["group"] == 8 or (shape == "grouped" and m * n >= 128 * 128))
        sound = sound and not (shape == "persistent" and knobs["warps"] != product.tiles[tile][0])
    elif shape in ("atomic", "parts"):
        sound = 64 <= m <= 128 and n in (64, 128) and away == (knobs["precision"] != product.precisions[0])
        sound = sound and (walk == "index" or (walk == "descriptor" and splits == 4))
    elif shape == "ahead":
        sound = stages == 3 and walk == "index"
    elif shape in ("skip", "triangle"):
        sound = away <= (stages == 4) and (m == n or shape == "skip") and m >= 32 and walk != "advance"
    else:
        sound = away == 0 and m >= 32 and n >= 32
    return bool(sound and (knobs["slip"] == "none" or _slips(product, knobs, away)))


def _skinny_valid(knobs: Knobs, away: int) -> bool:
    shape, walk, splits = knobs["shape"], knobs["walk"], knobs["splits"]
    if shape == "tile":
        return bool(away <= (walk == "index"))
    if walk == "descriptor":
        return bool(away <= (knobs["stages"] == 5) and splits == 8)
    return bool(walk == "index" and away == 0 and splits in ((4, 8, 32) if shape == "atomic" else (1, 4, 8, 16)))


def _slips(product: Product, knobs: Knobs, away: int) -> bool:
    """Slips only around common settings."""
    shape, slip, walk, tile = knobs["shape"], knobs["slip"], knobs["walk"], knobs["tile"]
    if away or (slip == "narrow" and len(product.precisions) > 1) or (slip == "empty") != (shape == "atomic"):
        return False
    if slip == "empty":
        return bool(walk == "index" and knobs["splits"] == 4)
    if slip == "unmasked" and tile[2] == 16:
        return False
    plain = shape == "tile" and walk == "index"
    ordered = shape == "grouped" and walk == "advance" and slip != "halved"
    return tile in tuple(product.tiles)[3:7] and (plain or ordered)
