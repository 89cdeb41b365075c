"""What single operations get beyond the mixed distributions: numbers at which a short cut for the usual ones is wrong.

Numbers far out where a function is flat or linear, rows that are negative throughout or of very large or small numbers,
signs where the usual ones are positive, bit patterns of any kind where numbers are only moved. All of it is legal by
the operation's formula, and within what honest float32 kernels bear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Hazard = Callable[[Mapping[str, Array], np.random.Generator], None]
_ONE_IN = 8  # rows, columns or slices are chosen, one at least
_ITEMS_PER_PLANT, _FEWEST_PLANTS = 1024, 8
_LARGEST_EXPONENT = 127  # of a finite number
_MOSTLY, _MOSTLY_ONE_IN = (0.8, 1.0), 4  # of all items, that have one value in one set in so many
# Means of rows, as whole numbers; times the longest row, 16384, this is below 2^24.
_MEANS = (300.0, 1000.0)
_NORMAL_RATIO, _WHOLE_RATIO = 2700.0, 150.0
_ENDING = 64  # one item in so many is at the end of a row of one number
_LEFT = 0.04  # of the sum of weights times their logarithm: a divergence of rows next to each other
_SHORT = 32  # rows of fewer items have no large mean


def add_hazards(name: str, arrays: Mapping[str, Array], rng: np.random.Generator, extreme: bool = False) -> None:
    """Change the inputs of the operation `name` in place; if `extreme`, with those too that most sets are without."""
    for hazard in _HAZARDS.get(name, ()):
        hazard(arrays, rng)
    for hazard, one_in in _SELDOM.get(name, ()):
        if extreme or rng.integers(one_in) == 0:
            hazard(arrays, rng)


def add_last_hazards(name: str, arrays: Mapping[str, Array], rng: np.random.Generator) -> None:
    """The same for what must not be changed any more by other magnitudes."""
    for hazard in _LAST_HAZARDS.get(name, ()):
        hazard(arrays, rng)


def places(rows: int, length: int, rng: np.random.Generator) -> Array:
    """A place in each of so many rows: the first item of one, the last of another, any of the others."""
    found = rng.integers(0, length, size=rows)
    found[:1], found[1:2] = 0, length - 1
    return found


def _some(count: int, rng: np.random.Generator) -> Array:
    """One index in a few, one at least."""
    return rng.permutation(count)[: -(-count // _ONE_IN)]


def _far_out(
    arrays: Mapping[str, Array],
    rng: np.random.Generator,
    key: str,
    logarithms: tuple[tuple[int, int], tuple[int, int]] = ((3, 7), (7, 20)),
    share: float = 1.0,
) -> None:
    """Numbers of both signs and magnitudes between 2 to the `logarithms`, for three in four and for the others.

    They are put into the first columns, that `share` of them.
    """
    rows = arrays[key]
    count = max(_FEWEST_PLANTS, rows.size // _ITEMS_PER_PLANT)
    near, far = (rng.uniform(*bounds, size=count) for bounds in logarithms)
    values = np.exp2(np.where(rng.random(count) < 0.75, near, far)) * rng.choice((-1, 1), size=count)
    columns = rng.integers(0, max(1, int(share * rows.shape[1])), size=count)
    rows[rng.integers(0, len(rows), size=count), columns] = values


def _orders(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """Rows for what looks for the largest item: negative throughout, of both signs, and of any magnitude."""
    rows = arrays[key]
    negative, mixed = _some(len(rows), rng), _some(len(rows), rng)
    rows[negative] = -1 - np.abs(rows[negative])
    rows[mixed] *= rng.choice((-1, 1), size=rows[mixed].shape)
    large = np.unique(np.concatenate((negative[::2], mixed[::2], _some(len(rows), rng))))
    shape = (len(large), *(1 for _ in rows.shape[1:]))
    room = _LARGEST_EXPONENT - np.frexp(np.abs(rows[large]).max(axis=tuple(range(1, rows.ndim)), initial=1))[1]
    least = np.where(rng.random(len(large)) < 0.5, room, 0)  # every second one as large as can be
    least[np.isin(large, negative[:1])] = room[np.isin(large, negative[:1])]
    rows[large] = np.ldexp(rows[large], rng.integers(least, room, endpoint=True).reshape(shape).astype(np.int32))


def _tiny(arrays: Mapping[str, Array], rng: np.random.Generator, key: str, both: bool) -> None:
    """Rows of subnormal numbers, and rows in which nothing is above 0 and zeros decide.

    `both` says that zeros may have either sign in one row: where it is the value that counts, honest kernels give
    either of them.
    """
    rows = arrays[key]
    chosen = _some(len(rows), rng)
    signs = rng.choice((0, 0x80000000), size=rows[chosen].shape).astype(np.uint32)
    rows[chosen] = (rng.integers(1, 1 << 23, size=rows[chosen].shape, dtype=np.uint32) | signs).view(np.float32)
    flat = np.setdiff1d(_some(len(rows), rng), chosen)
    values = -np.abs(rows[flat])
    zeros = np.where(rng.random((len(flat), 1)) < 0.5, np.float32(0), np.float32(-0.0))
    if both:
        zeros = np.where(rng.random(values.shape) < 0.5, np.float32(0), np.float32(-0.0))
    places = rng.random(values.shape) < 1 / _ONE_IN
    rows[flat] = np.where(places, zeros, values)


def _dominated(arrays: Mapping[str, Array], rng: np.random.Generator, key: str, axis: int = 0) -> None:
    """One item of some rows (or columns) that outweighs all others together: its own error decides."""
    rows = arrays[key] if axis == 0 else arrays[key].T
    chosen = _some(len(rows), rng)
    length = rows.shape[1]
    rows[chosen, places(len(chosen), length, rng)] = length * rng.uniform(1, 4, size=len(chosen))


def _signs(arrays: Mapping[str, Array], rng: np.random.Generator, key: str, axis: int = 0) -> None:
    """Other signs along `axis`: of whole rows or columns, so that nothing cancels in their sums."""
    array = arrays[key]
    shape = tuple(size if dim == axis else 1 for dim, size in enumerate(array.shape))
    array *= rng.choice((-1, 1, 1), size=shape).astype(array.dtype)


def _large_means(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """Rows whose mean outweighs their deviation, as far as float32 bears if all items are added in one chain.

    A variance as mean square less squared mean loses its digits. In normal numbers the ratio falls with the root of
    their number; where all items but a few at the end are the same whole number, and all sums are exact, it is the same
    for rows of any length.
    """
    rows = arrays[key]
    count, length = rows.shape
    if length < _SHORT:
        return
    chosen = rng.permutation(count)[: max(2, count // _ONE_IN)]
    means = (np.rint(rng.uniform(*_MEANS, size=len(chosen))) * rng.choice((-1, 1), size=len(chosen)))[:, None]
    half = len(chosen) // 2
    spread = means[:half] * (length**0.5 / _NORMAL_RATIO)
    rows[chosen[:half]] = means[:half] + spread * rng.standard_normal((half, length))
    ending = -(-length // _ENDING)
    offset = means[half:] * ((length / ending) ** 0.5 / _WHOLE_RATIO)
    rows[chosen[half:]] = means[half:]
    factors = rng.uniform(0.5, 1.5, size=(len(offset), ending)) * rng.choice((-1, 1), size=(len(offset), ending))
    rows[chosen[half:], -ending:] += np.rint(offset * factors)


def _small_rows(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """Rows so small that a number of 1e-5 which is added to their mean square decides."""
    rows = arrays[key]
    chosen = _some(len(rows), rng)
    rows[chosen] *= np.exp2(-rng.integers(6, 14, size=(len(chosen), 1))).astype(rows.dtype)


def _any_bits(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """Slices of any finite numbers, also those that arithmetic may round to 0."""
    array = arrays[key]
    chosen = _some(len(array), rng)
    bits = rng.integers(0, 1 << 32, size=array[chosen].shape, dtype=np.uint32)
    bits[(bits & 0x7F800000) == 0x7F800000] &= np.uint32(0xBFFFFFFF)
    bits[rng.random(bits.shape) < 1 / _ONE_IN] &= np.uint32(0x807FFFFF)  # subnormal
    bits[rng.random(bits.shape) < 1 / _ONE_IN] &= np.uint32(0x80000000)  # 0 of either sign
    array[chosen] = bits.view(np.float32)


def _long_run(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """One value for a sixteenth to a twelfth of all items, in a row: more than a narrow counter holds."""
    values = arrays[key]
    if not values.size:
        return
    length = int(rng.integers(values.size // 16, values.size // 12 + 1))
    start = int(rng.integers(0, values.size - length + 1))
    value = values[min(start, values.size - 1)]  # of no item, the last one may begin behind all
    values[start : start + length] = value


def _prevailing(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """One value for most of all items, anywhere."""
    values = arrays[key]
    if values.size:
        value = values[int(rng.integers(values.size))]
        values[rng.random(values.shape, dtype=np.float32) < rng.uniform(*_MOSTLY)] = value


def _masked(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """Items of some rows, one in a few, far below all others, as masks leave them; the first item stays."""
    rows = arrays[key]
    chosen = _some(len(rows), rng)
    mask = rng.random((len(chosen), rows.shape[1])) < 1 / _ONE_IN
    mask[:, 0] = False
    far = -np.power(10.0, rng.uniform(3, 30, size=mask.shape)).astype(rows.dtype)
    rows[chosen] = np.where(mask, far, rows[chosen])


def _few_values(arrays: Mapping[str, Array], rng: np.random.Generator) -> None:
    """Rows of `q` with one value, or two, and of `logp` so near that little is left of their difference.

    An error of a logarithm that averages out over many values does not over these. What is left is so much that an
    honest logarithm may be off by a few units in the last place, to the same side everywhere.
    """
    logp, q = arrays["logp"], arrays["q"]
    for row in _some(len(q), rng):
        usual = np.exp2(np.rint(np.log2(q[row].mean())))
        values = usual * np.exp2(rng.choice((0.0, *rng.uniform(-1, 1, size=2)), size=2))
        q[row] = rng.choice(values[: rng.integers(1, 3)], size=q.shape[1])
        exact = q[row].astype(np.float64)
        logarithms = np.log(exact)
        left = _LEFT * (1 + np.abs(logarithms).max()) * rng.uniform(1, 1.5) * rng.choice((-1, 1))
        near = rng.standard_normal(q.shape[1])  # mantissas that lean to one side would bias an honest sum
        logp[row] = near + (exact * (logarithms - near)).sum() / exact.sum() - left


def _flat(arrays: Mapping[str, Array], rng: np.random.Generator, key: str) -> None:
    """A rectangle of one number in a plane: nothing changes within it."""
    plane = arrays[key]
    height, width = plane.shape
    top, left = int(rng.integers(0, max(1, height // 2))), int(rng.integers(0, max(1, width // 2)))
    plane[top : top + max(3, height // 4), left : left + max(3, width // 4)] = plane[top, left]


def _of(function: Callable[..., None], *keys: str, **options: Any) -> tuple[Hazard, ...]:
    return tuple(partial(function, key=key, **options) for key in keys)


_HAZARDS: Mapping[str, tuple[Hazard, ...]] = {
    "silu": _of(_far_out, "x"),
    "gelu_erf": _of(_far_out, "x"),
    "softplus": _of(_far_out, "x"),
    "hardswish": _of(_far_out, "x"),
    "mul_add_exp": _of(_far_out, "x", logarithms=((3, 7), (7, 30))),
    # A continued fraction, which is an honest tanh, overflows at 2^6; what geglu multiplies by, in the other half of
    # its columns, would magnify its permitted error.
    "bias_gelu": _of(_far_out, "x", logarithms=((3, 4), (4, 5))),
    "geglu": _of(_far_out, "x", logarithms=((3, 4), (4, 5)), share=0.5),
    "row_max": (*_of(_orders, "x"), *_of(_tiny, "x", both=False)),
    "argmax": (*_of(_orders, "x"), *_of(_tiny, "x", both=True)),
    "max_pool2d": _of(_orders, "x"),
    **dict.fromkeys(("row_sum", "row_mean", "row_var"), (*_of(_dominated, "x"), *_of(_signs, "x"))),
    **dict.fromkeys(("prefix_sum", "exclusive_cumsum", "reverse_cumsum"), _of(_signs, "x")),
    "column_sum": (*_of(_dominated, "x", axis=1), *_of(_signs, "x", axis=1)),
    "huber_rows": _of(_dominated, "a"),
    "softmax_backward": _of(_signs, "y"),
    "row_column_scale": _of(_signs, "row_scale", "column_scale"),
    "layernorm": (*_of(_small_rows, "x"), *_of(_large_means, "x"), *_of(_signs, "gamma")),
    "rmsnorm": (*_of(_small_rows, "x"), *_of(_signs, "gamma")),
    **dict.fromkeys(("transpose", "permute_021", "flip_columns"), _of(_any_bits, "x")),
    "embedding": _of(_any_bits, "table"),
    "histogram": _of(_long_run, "values"),
    **dict.fromkeys(("sobel", "stencil9", "stencil5", "jacobi_source"), _of(_flat, "x")),
}

# With one set in how many has it.
_SELDOM: Mapping[str, tuple[tuple[Hazard, int], ...]] = {
    "histogram": tuple((hazard, _MOSTLY_ONE_IN) for hazard in _of(_prevailing, "values")),
}

_LAST_HAZARDS: Mapping[str, tuple[Hazard, ...]] = {
    **dict.fromkeys(("softmax", "log_softmax", "softmax_scaled", "row_logsumexp"), _of(_masked, "x")),
    "cross_entropy": _of(_masked, "logits"),
    "kl_div_rows": (_few_values,),
}
