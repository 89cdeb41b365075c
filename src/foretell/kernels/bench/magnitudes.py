"""Inputs of other magnitudes, and what each output's absolute tolerance is multiplied by for them.

Where an operation is linear in an input, or of another known degree, a factor of a power of two changes no digit of any
honest result, so the tolerance is multiplied by what the result is multiplied by. Factors differ between rows, columns,
channels or parts of a plane: whoever looks at a few items does not know the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Sizes

Array = NDArray[Any]
Rule = Callable[[Mapping[str, Array], Sizes, np.random.Generator], Array]
_LARGEST = 20  # logarithm of a factor, of either sign: products of squares stay finite and normal
_SHARE = 0.5  # of rows, columns or channels that have a factor
# A layernorm's error grows with the root of the row's length and with its mean, in units of its deviation.
_LAYERNORM_UNIT, _LAYERNORM_MOST = 135.0, 20.0
_LEAST_PROBABILITY = -14  # as a binary logarithm
_SHIFT = (750.0, 900.0)  # of rows: exponentials overflow, also in double precision
_SHIFTED_ROOM = 4.0  # a logarithm near 1000 is rounded to a step of 6e-5, twice if the logit is subtracted later
_ONE_IN = 8


def rescale(name: str, arrays: Mapping[str, Array], sizes: Sizes, rng: np.random.Generator) -> Array:
    """Change the inputs of the operation `name` in place.

    Returns:
        The factor of the absolute tolerance of each output, as an array that broadcasts to it.
    """
    rule = _RULES.get(name)
    return np.ones(()) if rule is None else rule(arrays, sizes, rng)


def _powers(count: int, rng: np.random.Generator, low: int = -_LARGEST, high: int = _LARGEST) -> Array:
    """Powers of two between those of `low` and `high` for `_SHARE` of them; 1 for the others."""
    logarithms = rng.integers(low, high, size=count, endpoint=True)
    return np.exp2(np.where(rng.random(count) < _SHARE, logarithms, 0))


def _multiply(array: Array, factors: Array, axis: int) -> Array:
    """Multiply in place along `axis`; the factors in a shape that broadcasts to the array."""
    shaped = factors.reshape([-1 if dim == axis % array.ndim else 1 for dim in range(array.ndim)])
    array *= shaped.astype(array.dtype)
    return shaped


def _along(axis: int, *keys: str, degree: int = 1, kept: bool = False) -> Rule:
    """Other factors for each row (or column, channel ...) of inputs in each of which the operation has the degree.

    `kept` says that outputs have all dimensions of the input; else the other ones are summed over.
    """

    def rule(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
        scale: Array = np.ones(())
        for key in keys:
            scale = scale * _multiply(arrays[key], _powers(arrays[key].shape[axis], rng), axis) ** degree
        return scale if kept else scale.reshape(-1)

    return rule


def _alike(*keys: str, others: Callable[[Array], Array] = lambda factor: factor, keep: bool = True) -> Rule:
    """The same factor for a row of all these inputs; `others` gives the tolerance's factor."""

    def rule(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
        factors = _powers(len(arrays[keys[0]]), rng)
        for key in keys:
            _multiply(arrays[key], factors, 0)
        scale = others(factors)
        return scale[:, None] if keep else scale

    return rule


def _matmul(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    left = _multiply(arrays["a"], _powers(arrays["a"].shape[-2], rng), -2)
    return left * _multiply(arrays["b"], _powers(arrays["b"].shape[-1], rng), -1)


def _matmul_transposed(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    left = _multiply(arrays["a"], _powers(len(arrays["a"]), rng), 0)
    return left * _multiply(arrays["b"], _powers(len(arrays["b"]), rng), 0).T


def _parts(count: int, radius: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Factors of two parts of an axis, and the largest within `radius` of each place."""
    first, second = _powers(2, rng)
    factors = np.where(np.arange(count) < rng.integers(0, count + 1), first, second)
    widest = factors
    for _ in range(min(radius, count)):
        padded = np.pad(widest, 1, mode="edge")
        widest = np.maximum(np.maximum(padded[:-2], padded[2:]), widest)
    return factors, widest


def _planes(*keys: str) -> Rule:
    """Two parts of planes, beside or above each other, that meet in results near their border."""

    def rule(arrays: Mapping[str, Array], sizes: Sizes, rng: np.random.Generator) -> Array:
        axis = int(rng.integers(2))
        factors, widest = _parts(arrays[keys[0]].shape[axis], sizes.get("steps", 1), rng)
        for key in keys:
            _multiply(arrays[key], factors, axis)
        return widest.reshape((-1, 1) if axis == 0 else (1, -1))

    return rule


def _conv2d(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    factors, widest = _parts(arrays["x"].shape[2], 1, rng)
    _multiply(arrays["x"], factors, 2)
    filters = _powers(len(arrays["weights"]), rng)
    _multiply(arrays["weights"], filters, 0)
    return filters[:, None, None] * widest


def _row_column_scale(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    rows = _multiply(arrays["row_scale"], _powers(len(arrays["row_scale"]), rng), 0)
    columns = _multiply(arrays["column_scale"], _powers(len(arrays["column_scale"]), rng), 0)
    return rows[:, None] * columns * _multiply(arrays["x"], _powers(len(arrays["x"]), rng), 0)


def _add_bias_residual(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    factors = _powers(len(arrays["x"]), rng)
    for key in ("x", "residual"):
        _multiply(arrays[key], factors, 0)
    bias = _multiply(arrays["bias"], _powers(len(arrays["bias"]), rng), 0)
    return np.maximum(factors[:, None], bias)


def _softmax_backward(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    """Probabilities get smaller only: what is subtracted is of the second degree in them."""
    y = _multiply(arrays["y"], _powers(len(arrays["y"]), rng, _LEAST_PROBABILITY, 0), 0)
    return y * _multiply(arrays["grad"], _powers(len(arrays["grad"]), rng), 0)


def _kl_div_rows(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    """Probabilities of a long row, also of one in which they were not divided by their sum."""
    factors = _powers(len(arrays["q"]), rng, _LEAST_PROBABILITY, -_LEAST_PROBABILITY)
    _multiply(arrays["q"], factors, 0)
    return np.asarray(factors * (1 + np.abs(np.log(factors))))


def _rmsnorm(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    """Large rows, which give what they gave before, and columns of other magnitudes."""
    _multiply(arrays["x"], _powers(len(arrays["x"]), rng, 0), 0)
    return _multiply(arrays["gamma"], _powers(len(arrays["gamma"]), rng), 0)


def _layernorm(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
    _multiply(arrays["x"], _powers(len(arrays["x"]), rng, 0), 0)
    columns = _powers(len(arrays["gamma"]), rng)
    for key in ("gamma", "beta"):
        _multiply(arrays[key], columns, 0)
    x = arrays["x"].astype(np.float64)
    ratio: Array = np.abs(x.mean(axis=1)) / np.sqrt(x.var(axis=1) + 1e-5)
    room: Array = np.clip(ratio * x.shape[1] ** 0.5 / _LAYERNORM_UNIT, 1, _LAYERNORM_MOST)
    return np.asarray(room[:, None] * columns)


def _shifted(key: str = "x", times: float = 1.0, room: float = 1.0, kept: bool = True) -> Rule:
    """Rows far from 0 on either side, where exponentials overflow or all vanish unless the largest item is known."""

    def rule(arrays: Mapping[str, Array], _: Sizes, rng: np.random.Generator) -> Array:
        rows = arrays[key]
        chosen = rng.permutation(len(rows))[: -(-len(rows) // _ONE_IN)]
        shape = (len(chosen), 1)
        rows[chosen] += times * rng.uniform(*_SHIFT, size=shape) * rng.choice((-1, 1), size=shape)
        scale = np.ones(len(rows))
        scale[chosen] = room
        return scale[:, None] if kept else scale

    return rule


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("row_sum", "row_mean"), _along(0, "x")),
    "row_var": _along(0, "x", degree=2),
    "row_dot": _along(0, "x", "y"),
    "column_sum": _along(1, "x"),
    **dict.fromkeys(("prefix_sum", "exclusive_cumsum", "reverse_cumsum"), _along(0, "x", kept=True)),
    "avg_pool2d": _along(0, "x", kept=True),
    "depthwise_conv2d": _along(2, "x", "weights"),
    "attention": _along(2, "v", kept=True),
    "rmsnorm": _rmsnorm,
    "masked_residual": _alike("x", "residual"),
    "huber_rows": _alike("a", "b", others=lambda factor: np.minimum(1, factor**2), keep=False),
    **dict.fromkeys(("matmul", "batched_matmul"), _matmul),
    "matmul_transposed": _matmul_transposed,
    "conv2d": _conv2d,
    **dict.fromkeys(("stencil5", "stencil9", "sobel"), _planes("x")),
    "jacobi_source": _planes("x", "source"),
    "row_column_scale": _row_column_scale,
    "add_bias_residual": _add_bias_residual,
    "softmax_backward": _softmax_backward,
    "kl_div_rows": _kl_div_rows,
    "layernorm": _layernorm,
    "softmax": _shifted(),
    "softmax_scaled": _shifted(times=8),
    "log_softmax": _shifted(room=_SHIFTED_ROOM),
    "row_logsumexp": _shifted(kept=False),
    "cross_entropy": _shifted("logits", room=_SHIFTED_ROOM, kept=False),
}
