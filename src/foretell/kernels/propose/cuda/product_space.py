"""What the matrix products in `products` differ in, their knobs, and which settings of these make sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.kernels.propose.template import Knobs

Shape = tuple[int, int, int, int]

# Rows and columns of a block's tile; then those of a thread's own (register) or the warps down and across (tensor).
_SHAPES: Mapping[str, tuple[Shape, ...]] = {
    "plain": ((16, 16, 1, 1), (8, 32, 1, 1), (4, 64, 1, 1), (1, 256, 1, 1), (32, 8, 1, 1)),
    "tile": ((16, 16, 1, 1), (8, 32, 1, 1), (32, 32, 1, 1), (8, 8, 1, 1)),
    "register": ((64, 64, 4, 4), (32, 32, 2, 2), (32, 64, 4, 4), (64, 128, 8, 4), (128, 128, 8, 8), (128, 64, 8, 8)),
    "tensor": ((64, 64, 2, 2), (32, 32, 2, 1), (64, 128, 2, 2), (128, 128, 2, 4), (128, 128, 4, 2), (128, 256, 2, 4)),
}
SKINNY: Mapping[str, tuple[Shape, ...]] = {
    "plain": ((4, 64, 1, 1), (1, 256, 1, 1), (8, 32, 1, 1)),
    "tile": ((16, 16, 1, 1), (16, 32, 1, 1)),
    "register": ((16, 64, 2, 4), (16, 128, 4, 4), (64, 64, 4, 4)),
    "tensor": ((16, 64, 1, 2), (16, 64, 1, 4), (16, 128, 1, 4), (64, 64, 2, 2), (64, 128, 2, 4)),
}
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}


@dataclass(frozen=True)
class Product:
    """How the factors lie (`turned`: K x M, `across`: the second is the first, N x K), and what follows the sum.

    `finish` turns `v`, the sum at `row` and `column`, into the result; `late` are the inputs that it reads, `bent` is
    a mistake in it. With `gathered` the block's z axis is the group.
    """

    dtype: str
    finish: str = ""
    bent: str = ""
    late: tuple[str, ...] = ()
    turned: bool = False
    across: bool = False
    gathered: bool = False
    shapes: Mapping[str, tuple[Shape, ...]] | None = None

    @property
    def total(self) -> str:
        return "int" if self.dtype == "int8" else "float"

    @property
    def ways(self) -> Mapping[str, tuple[Shape, ...]]:
        found = self.shapes or _SHAPES
        return {way: shapes for way, shapes in found.items() if way != "tensor" or self.dtype != "float32"}


def knobs_of(product: Product) -> dict[str, tuple[object, ...]]:
    slips = ["none", "misnamed", "barrier", "wait", "tail", "narrow", "greedy", *(["bent"] if product.bent else [])]
    return {
        "way": tuple(product.ways),
        "shape": tuple(dict.fromkeys(shape for shapes in product.ways.values() for shape in shapes)),
        "depth": (16, 32, 64),
        "pad": (0, 16),
        "copy": ("scalar", "vector", "async"),
        "stages": (1, 2, 3, 4),
        "order": ("near", "far"),
        "raster": ("columns", "rows"),
        "splits": (1, 4, 16) if product.shapes else (1,),
        "join": ("atomic", "parts") if product.shapes else ("atomic",),
        "slip": tuple(slips),
    }


def valid(product: Product, knobs: Knobs) -> bool:
    way, shape, depth, slip = knobs["way"], knobs["shape"], knobs["depth"], knobs["slip"]
    if shape not in product.ways[way] or (knobs["splits"] == 1 and knobs["join"] != "atomic"):
        return False
    shapes = product.ways[way]
    slipped = slip == "none" or _slips(product, knobs)
    if way == "plain":
        plain = knobs["pad"] == 0 and knobs["copy"] == "scalar" and knobs["stages"] == 1 and knobs["splits"] == 1
        sound = (knobs["order"] == "near" or (shape[0] <= 8 and depth == 16)) and depth < 64
        return bool(slipped and plain and sound and knobs["raster"] == "columns")
    if (knobs["stages"] > 1) != (knobs["copy"] == "async") or (knobs["order"] == "far" and way == "tile"):
        return False
    if knobs["copy"] != "scalar" and any(inner * SIZES[product.dtype] % 16 for _, inner in tiles(product, knobs)):
        return False
    if knobs["raster"] == "rows" and (product.shapes or way != "tensor" or depth != 32 or knobs["order"] == "far"):
        return False
    if way == "tile" and (depth == 64 or knobs["copy"] == "async" or knobs["pad"]):
        return False
    if way == "register":
        small = shared_bytes(product, knobs) <= 64 * 1024 and knobs["stages"] < 4 and knobs["pad"] == 0
        order = knobs["order"] == "near" or (knobs["copy"] != "async" and depth == 16) or product.dtype == "float32"
        if not small or not order or (depth == 64 and knobs["copy"] != "vector"):
            return False
    if way == "tensor":
        if (knobs["order"] == "far") and not (knobs["copy"] == "vector" and knobs["pad"] == 0 and depth == 32):
            return False
        if knobs["pad"] == 0 and (depth == 16 or knobs["stages"] in (2, 4)) and knobs["copy"] != "scalar":
            return False
        if (knobs["copy"] == "scalar" and (depth == 64 or knobs["pad"])) or shared_bytes(product, knobs) > 160 * 1024:
            return False
    if knobs["splits"] == 1 and product.shapes and way != "tensor" and shape != shapes[0]:
        return False
    if knobs["join"] == "parts" and (knobs["splits"] < 16 or knobs["raster"] == "rows"):
        return False
    if knobs["splits"] > 1 and (depth == 16 or way == "tile" or knobs["stages"] == 2 or knobs["copy"] == "scalar"):
        return False
    return bool(slipped)


def _slips(product: Product, knobs: Knobs) -> bool:
    """Slips only around common settings."""
    way, slip, shape, depth = knobs["way"], knobs["slip"], knobs["shape"], knobs["depth"]
    shapes = product.ways[way]
    if knobs["order"] == "far" or knobs["raster"] == "rows" or knobs["splits"] > 1:
        return False
    if slip in ("misnamed", "bent"):
        return bool(shape == shapes[0] and depth == 32 and knobs["copy"] != "async" and knobs["pad"] == 0)
    if slip == "narrow":
        return way in ("plain", "register") and product.dtype != "float32" and depth == 16 and shape in shapes[:2]
    if way == "plain" or depth != 32:
        return False
    if slip == "barrier":
        return way != "tensor" and shape in shapes[1:3] and knobs["stages"] == 1
    if slip == "wait":
        return bool(knobs["copy"] == "async" and knobs["stages"] == 3 and shape in shapes[1:4])
    if slip == "tail":
        return bool(shape == shapes[0] and (knobs["copy"] == "scalar" or (knobs["stages"] == 2 and way == "tensor")))
    return bool(shape == shapes[-1] and knobs["copy"] == "vector" and knobs["pad"] == 0)


def tiles(product: Product, knobs: Knobs) -> tuple[tuple[int, int], tuple[int, int]]:
    """Outer and inner sides of the two tiles in shared memory."""
    rows, columns, _, _ = knobs["shape"]
    depth = knobs["depth"]
    return (depth, rows) if product.turned else (rows, depth), (columns, depth) if product.across else (depth, columns)


def shared_bytes(product: Product, knobs: Knobs) -> int:
    size = SIZES[product.dtype]
    pad = knobs["pad"] // size
    return int(knobs["stages"] * size * sum(outer * (inner + pad) for outer, inner in tiles(product, knobs)))
