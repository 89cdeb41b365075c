"""Inputs of the library's operations: in every set two distributions, mixed slice by slice as nobody can foresee.

One is the tensor's own (`Tensor.fill`). The other is drawn so that sloppy work shows: magnitudes over several binades,
none so large or so small that a term could be left out, and mantissas that all lower precisions round in the same
direction often enough for their errors to add up in a sum instead of averaging out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Sizes, Task, Tensor, evaluate_size, fill_array

OTHER_SHARE = 0.75  # of the slices: work that some data would make superfluous must not decide what a kernel is worth
_FEWEST_SLICES = 4  # along the first dimension; with fewer, slices are short pieces of memory
_PIECE = 64
_HOT_SHARE = 16  # one index in so many is used in a slice of the other distribution
# Signed, lowest exponent, number of binades. `wide` and `normal` are drawn below 2 here.
_BINADES = {"normal": (True, -5, 6), "wide": (True, -5, 6), "uniform": (False, -4, 4), "positive": (False, -1, 2)}
# Lower bits of a mantissa (bits kept as drawn, bits set): one in eight just under half a unit of bfloat16, three in
# eight just under half a unit of float16 and TF32. With more of them, plain float32 sums would be biased too.
_BFLOAT16, _FLOAT16 = (0xFFFF000F, 0x6FF0), (0xFFFFE00F, 0x0FF0)


def draw_inputs(task: Task, sizes: Sizes, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """New inputs of a task, by name."""
    return {tensor.name: _mixed(tensor, sizes, rng) for tensor in task.inputs}


def _mixed(tensor: Tensor, sizes: Sizes, rng: np.random.Generator) -> NDArray[Any]:
    array = fill_array(tensor, sizes, rng)
    leading = array.shape[0] if array.ndim > 1 else 1
    pieces = array.reshape(leading, -1) if leading >= _FEWEST_SLICES else _pieces(array)
    chosen = rng.permutation(len(pieces))[: int(OTHER_SHARE * len(pieces))]
    if len(chosen):
        pieces[chosen] = _other(tensor, sizes, (len(chosen), pieces.shape[1]), rng)
    return array


def _pieces(array: NDArray[Any]) -> NDArray[Any]:
    """The array as rows of equal length over the same memory; what is left over stays out."""
    flat = array.reshape(-1)
    length = min(_PIECE, max(1, flat.size))
    return flat[: flat.size - flat.size % length].reshape(-1, length)


def _other(tensor: Tensor, sizes: Sizes, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    if tensor.fill.startswith("index:"):
        if np.dtype(tensor.dtype).kind == "f":  # nearly alike: told apart in float32, and in no lower precision
            return (1 + rng.random(shape, dtype="float32") / 128).astype(tensor.dtype, copy=False)
        count = evaluate_size(tensor.fill.removeprefix("index:"), sizes)
        hot = max(1, count // _HOT_SHARE)
        start = rng.integers(0, count - hot + 1, size=(shape[0], 1))
        return np.asarray(start + rng.integers(0, hot, size=shape)).astype(tensor.dtype)
    signed, lowest, binades = _BINADES[tensor.fill]
    bits = rng.integers(0, 1 << 32, size=shape, dtype=np.uint32)
    exponent = ((bits >> 23) & 0xFF) * np.uint32(binades) >> 8
    kind = (bits >> 4) & 7
    for (kept, ones), members in ((_BFLOAT16, kind == 0), (_FLOAT16, (kind > 0) & (kind < 4))):
        np.copyto(bits, (bits & np.uint32(kept)) | np.uint32(ones), where=members)
    exponent += np.uint32(127 + lowest)
    value = (exponent << 23) | (bits & np.uint32(0x807FFFFF if signed else 0x007FFFFF))
    return value.view(np.float32).astype(tensor.dtype, copy=False)
