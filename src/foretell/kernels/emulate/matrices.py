"""Matrix fragments of a warp: which element of a matrix each lane holds, and products of such matrices.

Registers are (warps, 32, registers) of 32 or 64 bits. Products are summed in double precision and rounded once per
instruction, where tensor cores cut off a few bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.emulate.conversions import _EIGHT_BITS, _numbers_of
from foretell.kernels.emulate.lanes import LANES
from foretell.kernels.emulate.values import NotEmulated, bytes_of, is_type, narrow, wide
from foretell.kernels.languages.dry.ptx import Instruction

Array = NDArray[Any]
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_GROUP, _MEMBER = np.arange(LANES) // 4, np.arange(LANES) % 4


@dataclass(frozen=True)
class Product:
    """Shape and types of a matrix instruction: D = A · B + C."""

    rows: int
    columns: int
    depth: int
    d: str
    a: str
    b: str
    c: str


def product_of(one: Instruction) -> Product:
    """The product that an instruction names. Raises NotEmulated for shapes and types that are not known."""
    shape = next((found for part in one.parts if (found := _SHAPE.fullmatch(part))), None)
    types = [part for part in one.parts if is_type(part) or part in _EIGHT_BITS]
    if one.parts[0] == "wmma" and len(types) == 2:  # f16: only those of D and C are named
        types = [types[0], "f16", "f16", types[1]]
    if (
        shape is None
        or len(types) != 4
        or {"sp", "b1", "u4", "s4"} & set(one.parts)
        or "sp::ordered_metadata" in one.op
    ):
        raise NotEmulated(f"the instruction {one.op}")
    return Product(*map(int, shape.groups()), *types)  # type: ignore[arg-type]


def numbers(registers: Array, type_: str) -> Array:
    """The numbers in registers, (warps, 32, elements), in the order of their bits."""
    size = 1 if type_ in _EIGHT_BITS else bytes_of(type_)
    flat = np.ascontiguousarray(registers)
    if size < flat.dtype.itemsize:
        flat = flat.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[size])
    if type_ in _EIGHT_BITS:
        eight: Array = _eight(type_)[flat]
        return eight
    if type_ in ("s8", "u8", "s32"):
        whole: Array = flat.view({"s8": np.int8, "u8": np.uint8, "s32": np.int32}[type_]).astype(np.int64)
        return whole
    found: Array = wide(flat, type_).astype(np.float64)
    return found


@cache
def _eight(name: str) -> Array:
    bits, bias, _ = _EIGHT_BITS[name]
    found: Array = _numbers_of(bits, bias, name)
    return found


def bits_of(found: Array, type_: str) -> Array:
    """The bits of each number."""
    if type_ == "s32":
        return found.astype(np.int32).view(np.uint32)
    return np.ascontiguousarray(narrow(found, type_))


def registers_of(found: Array, type_: str) -> Array:
    """The opposite of `numbers`."""
    bits = bits_of(found, type_)
    return bits.view(np.uint32) if bits.dtype.itemsize < 4 else bits


def multiplied(one: Product, a: Array, b: Array, c: Array) -> Array:
    """mma.sync on fragments in registers."""
    _known(one)
    size_a, size_b = _element(one.a), _element(one.b)
    left = _gathered(numbers(a, one.a), *_operand(one.rows, one.depth, size_a), (one.rows, one.depth))
    right = _gathered(numbers(b, one.b), *_operand(one.columns, one.depth, size_b), (one.columns, one.depth))
    rows, columns = _accumulator(one.rows)
    total = _gathered(numbers(c, one.c), rows, columns, (one.rows, one.columns))
    return registers_of((total + left @ right.transpose(0, 2, 1))[:, rows, columns], one.d)


def _known(one: Product) -> None:
    width = {1: (16, 32), 2: (8, 16), 4: (4, 8), 8: (4,)}[_element(one.a)]
    rows = (8,) if one.a == "f64" else (16,)
    if one.rows not in rows or one.columns != 8 or one.depth not in width:
        raise NotEmulated(f"products of {one.rows} x {one.columns} x {one.depth} .{one.a}")


def _element(type_: str) -> int:
    return 1 if type_ in _EIGHT_BITS else bytes_of(type_)


@cache
def _operand(rows: int, depth: int, size: int) -> tuple[Array, Array]:
    """Row and column, along the depth, of each element that a lane holds of A; of B with its columns as rows."""
    per_register = max(1, 4 // size)
    along = 4 * per_register  # columns that a row of four lanes holds in one register
    places = [
        (_GROUP + 8 * down, _MEMBER * per_register + step * along + i)
        for step in range(depth // along)
        for down in range(rows // 8)
        for i in range(per_register)
    ]
    return np.stack([row for row, _ in places], axis=1), np.stack([column for _, column in places], axis=1)


@cache
def _accumulator(rows: int) -> tuple[Array, Array]:
    """Row and column of each element of C and D."""
    places = [(_GROUP + 8 * down, _MEMBER * 2 + i) for down in range(rows // 8) for i in range(2)]
    return np.stack([row for row, _ in places], axis=1), np.stack([column for _, column in places], axis=1)


def _gathered(found: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> Array:
    """Fragments as matrices, (warps, rows, columns)."""
    if found.shape[2] != rows.shape[1]:
        raise NotEmulated("fragments of another number of registers")
    matrix = np.zeros((found.shape[0], *shape), found.dtype)
    matrix[:, rows, columns] = found
    return matrix


# wmma: which lane holds what is not laid down, so that rows are dealt out in order


def dealt(matrix: Array, count: int) -> Array:
    """Matrices (warps, rows, columns) of numbers' bits as `count` registers per lane; what is over repeats."""
    flat = np.ascontiguousarray(matrix.reshape(matrix.shape[0], LANES, -1))
    held = flat.view(np.uint32) if flat.dtype.itemsize < 4 else flat
    repeats = -(-count // held.shape[2])
    return np.concatenate([held] * repeats, axis=2)[:, :, :count]


def collected(registers: Array, type_: str, shape: tuple[int, int]) -> Array:
    """The opposite of `dealt`, as numbers."""
    held = shape[0] * shape[1] // LANES * bytes_of(type_) // registers.dtype.itemsize
    return numbers(registers[:, :, :held], type_).reshape(registers.shape[0], *shape)


def multiplied_wmma(one: Product, a: Array, b: Array, c: Array) -> Array:
    """wmma.mma on registers of `dealt`."""
    left = collected(a, one.a, (one.rows, one.depth))
    right = collected(b, one.b, (one.depth, one.columns))
    total = collected(c, one.c, (one.rows, one.columns)) + left @ right
    return dealt(bits_of(total, one.d), c.shape[2])


def shape_of(one: Instruction) -> tuple[int, int]:
    """Rows and columns of the matrix that wmma.load or wmma.store moves."""
    rows, columns, depth = (
        int(each) for part in one.parts if (found := _SHAPE.fullmatch(part)) for each in found.groups()
    )
    return {"a": (rows, depth), "b": (depth, columns)}.get(one.parts[2], (rows, columns))


def stacked(values: Sequence[Array]) -> Array:
    """Registers of all lanes, each (warps · 32,), as (warps, 32, registers)."""
    return np.stack(values, axis=1).reshape(-1, LANES, len(values))
