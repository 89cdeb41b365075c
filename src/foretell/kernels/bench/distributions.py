"""Inputs of the library's operations: two distributions in every set, mixed within rows as nobody can foresee.

One is the tensor's own (`Tensor.fill`). The other is drawn so that sloppy work shows: magnitudes over several binades,
none so large or so small that a term could be left out, and mantissas that all lower precisions round in the same
direction often enough for their errors to add up in a sum instead of averaging out.

No part of a row tells what the rest holds: runs of drawn place and length are of the other kind, and single items that
decide the result, such as one beyond the usual range, are planted in every row. What single operations need beyond
that is in `hazards` and `magnitudes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.bench.hazards import add_hazards, add_last_hazards, places
from foretell.kernels.bench.magnitudes import rescale
from foretell.kernels.task import Sizes, Task, Tensor, evaluate_size, fill_array

OTHER_SHARE = 0.75  # of the slices: work that some data would make superfluous must not decide what a kernel is worth
_FEWEST_SLICES = 4  # along the first dimension; with fewer, slices are short pieces of memory
_PIECE = (48, 144)  # items of such a piece, from and below
_HOT_SHARE = 16  # one index in so many is used in a slice of the other distribution, but two at least
_ONE_IN = 8  # slices: of one index but for planted ones, or (`wide`) with one item that outweighs all others
_ITEMS_PER_PLANT = 1024  # one item in so many is planted, but one per slice at least
_SHORT = 32  # slices of fewer items: one item in so many, and none in most slices
# Beside items below 12: exp overflows unless the maximum was found, and what the others add to the sum is too little,
# even after a division by 8, for a running sum in float32 that loses them to be wrong.
_FAR = (150.0, 190.0)
# Signed, lowest exponent, number of binades. `wide` and `normal` are drawn below 2 here.
_BINADES = {"normal": (True, -5, 6), "wide": (True, -5, 6), "uniform": (False, -4, 4), "positive": (False, -1, 2)}
# Signed, and the binary logarithms between which the magnitude of a planted item lies.
_PLANTS = {"normal": (True, 2, 3), "wide": (True, 1, 3.6), "uniform": (False, 0, 2), "positive": (False, -4, 3)}
# Lower bits of a mantissa (bits kept as drawn, bits set): just under half a unit of bfloat16; just under half a unit of
# float16 and TF32, a whole one, and just under a whole one.
_BFLOAT16, _FLOAT16, _WHOLE, _UNDER = (0xFFFF000F, 0x6FF0), (0xFFFFE00F, 0x0FF0), (0xFFFFE000, 0), (0xFFFFE00F, 0x1FF0)
# What a row or a column leans to, and by which of eight kinds of its items: inputs cut to fewer bits are off to one
# side in some of them, whatever is added for the bits that were cut. Plain float32 sums of very many items would be
# biased too by the last two, and by more items of the first.
_LEANINGS = (
    ((_BFLOAT16, 0, 1), (_FLOAT16, 1, 5)),
    ((_WHOLE, 0, 8),),
    ((_BFLOAT16, 0, 2), (_FLOAT16, 2, 8)),
    ((_UNDER, 0, 8),),
)
_OF_ANY_LENGTH, _LONGEST = 2, 4096
_OWN_LEANINGS = 32  # rows that lean by themselves; the others do as their columns do


def draw_inputs(
    task: Task, sizes: Sizes, rng: np.random.Generator, extreme: bool = False
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """New inputs of a task, by name, and the factor of the absolute tolerance for each item of its output.

    `extreme` says that what is usually left to chance, one value for most of a set, is in this one.
    """
    arrays = {tensor.name: _mixed(tensor, sizes, rng) for tensor in task.inputs}
    add_hazards(task.name, arrays, rng, extreme)
    scale = rescale(task.name, arrays, sizes, rng)
    add_last_hazards(task.name, arrays, rng)
    return arrays, scale


def _mixed(tensor: Tensor, sizes: Sizes, rng: np.random.Generator) -> NDArray[Any]:
    array = fill_array(tensor, sizes, rng)
    leading = array.shape[0] if array.ndim > 1 else 1
    rows = array.reshape(leading, -1) if leading >= _FEWEST_SLICES else _pieces(array, rng)
    if not rows.size:
        return array
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[rng.permutation(len(rows))[: int(OTHER_SHARE * len(rows))]] = True
    runs = _runs(rows.shape, rng)
    if tensor.fill == "wide":  # a run of these among small ones would make most of the exponentials superfluous
        runs[chosen] = False
    np.copyto(rows, _other(tensor, sizes, rows.shape, rng), where=runs ^ chosen[:, None])
    _plant(tensor, sizes, rows, rng)
    if tensor.fill == "wide":
        small = np.flatnonzero(chosen)
        far = rng.permutation(small)[: -(-len(small) // _ONE_IN)]
        rows[far, places(len(far), rows.shape[1], rng)] = rng.uniform(*_FAR, size=len(far))
    return array


def _pieces(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The array as rows of one drawn length over the same memory, from a drawn start; what is left over stays out."""
    flat = array.reshape(-1)
    length = min(int(rng.integers(*_PIECE)), max(1, flat.size))
    start = int(rng.integers(0, flat.size % length + 1))
    return flat[start : start + flat.size // length * length].reshape(-1, length)


def _runs(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which items lie in a run: in every second row one, a third of them from the row's beginning."""
    count, length = shape
    first = rng.integers(-(length // 2), length, size=(count, 1)).clip(0)
    items = (rng.random((count, 1)) ** 2 / 2 * (length + 1)).astype(np.int64)
    items[rng.random((count, 1)) < 0.5] = 0
    position = np.arange(length)
    return np.asarray((position >= first) & (position < first + items))


def _plant(tensor: Tensor, sizes: Sizes, rows: NDArray[Any], rng: np.random.Generator) -> None:
    """Put single items into `rows` that no other item foretells."""
    count, length = rows.shape
    indices = tensor.fill.startswith("index:")
    each = max(2 if indices else 1, length // _ITEMS_PER_PLANT)
    if length < _SHORT:
        places = rng.integers(0, rows.size, size=(rows.size // _SHORT, 1))
    else:
        places = np.arange(0, rows.size, length)[:, None] + rng.integers(0, length, size=(count, each))
    if indices:
        nominal = evaluate_size(tensor.fill.removeprefix("index:"), sizes)
        if np.dtype(tensor.dtype).kind == "f":  # beyond the usual range in every second row, equal or one apart
            places = places[rng.random(len(places)) < 0.5]
            values = nominal + rng.integers(0, nominal, size=(len(places), 1)) + rng.integers(0, 2, size=places.shape)
        else:
            values = rng.integers(0, nominal, size=places.shape)
    else:
        signed, low, high = _PLANTS[tensor.fill]
        values = np.exp2(rng.uniform(low, high, size=places.shape))
        if signed:
            values *= rng.choice((-1, 1), size=places.shape)
    rows.reshape(-1)[places] = values


def _other(tensor: Tensor, sizes: Sizes, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    if tensor.fill.startswith("index:"):
        if np.dtype(tensor.dtype).kind == "f":  # nearly alike: told apart in float32, and in no lower precision
            return (1 + rng.random(shape, dtype="float32") / 128).astype(tensor.dtype, copy=False)
        count = evaluate_size(tensor.fill.removeprefix("index:"), sizes)
        hot = max(min(2, count), count // _HOT_SHARE)
        start = rng.integers(0, count - hot + 1, size=(shape[0], 1))
        offset = rng.integers(0, hot, size=shape)
        alone = rng.random(shape[0]) < 1 / _ONE_IN
        offset[alone] = offset[alone, :1]
        return np.asarray(start + offset).astype(tensor.dtype)
    signed, lowest, binades = _BINADES[tensor.fill]
    bits = rng.integers(0, 1 << 32, size=shape, dtype=np.uint32)
    exponent = ((bits >> 23) & 0xFF) * np.uint32(binades) >> 8
    _lean(bits, rng)
    exponent += np.uint32(127 + lowest)
    value = (exponent << 23) | (bits & np.uint32(0x807FFFFF if signed else 0x007FFFFF))
    return value.view(np.float32).astype(tensor.dtype, copy=False)


def _lean(bits: NDArray[np.uint32], rng: np.random.Generator) -> None:
    """Give the lower bits of mantissas what their row leans to, in most rows what their column leans to."""
    rows, columns = bits.shape
    known = _OF_ANY_LENGTH if max(bits.shape) > _LONGEST else len(_LEANINGS)
    leaning = np.repeat(rng.integers(0, known, size=(1, columns), dtype=np.uint8), rows, axis=0)
    own = rng.permutation(rows)[: min(_OWN_LEANINGS, rows // 2)]
    leaning[own] = rng.integers(0, known, size=(len(own), 1), dtype=np.uint8)
    kind = (bits >> 4).astype(np.uint8) & 7
    kept = np.full((known, 8), 0xFFFFFFFF, dtype=np.uint32)
    ones = np.zeros_like(kept)
    for number, patterns in enumerate(_LEANINGS[:known]):
        for (mask, pattern), first, end in patterns:
            kept[number, first:end], ones[number, first:end] = mask, pattern
    chosen = leaning << 3 | kind
    bits &= kept.reshape(-1)[chosen]
    bits |= ones.reshape(-1)[chosen]
