"""Arrays checked at the door: every metric turns what it is given into a plain array here, or says what is wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SUM_TOLERANCE = 1e-3  # how far probabilities may be from summing to one before it is a mistake, not rounding


def vector(name: str, values: ArrayLike, *, allow_infinite: bool = False) -> FloatArray:
    """Return `values` as a non-empty 1-D float array; raise ValueError on NaN (and on infinities unless allowed)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers, got shape {array.shape}")
    bad = np.isnan(array) if allow_infinite else ~np.isfinite(array)
    if bad.any():
        raise ValueError(f"{name} has {int(bad.sum())} values that are not finite numbers; drop those rows first")
    return array


def vectors(names: str, *columns: ArrayLike) -> list[FloatArray]:
    """Return columns of one common length as checked vectors; `names` is space-separated, one name a column."""
    checked = [vector(name, column) for name, column in zip(names.split(), columns, strict=True)]
    if len({column.size for column in checked}) > 1:
        raise ValueError(f"{names.replace(' ', ', ')} differ in length: {[column.size for column in checked]}")
    return checked


def unit_vector(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as a vector of numbers in [0, 1] (probabilities, confidences, or booleans as 0 and 1)."""
    array = vector(name, values)
    if array.min() < 0.0 or array.max() > 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {array.min():g} to {array.max():g}")
    return array


def flags(name: str, values: ArrayLike, size: int) -> FloatArray:
    """Return `values` as a vector of exactly 0.0 or 1.0 with the given length."""
    array = vector(name, values)
    if array.size != size:
        raise ValueError(f"{name} has {array.size} values where {size} were expected")
    if not np.isin(array, (0.0, 1.0)).all():
        raise ValueError(f"{name} must be true or false for each row")
    return array


def distributions(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as rows of probabilities, shape (n, k); rows must sum to one within rounding, and then do so."""
    array = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must have shape (n, k), got {array.shape}")
    if not np.isfinite(array).all() or array.min() < 0.0:
        raise ValueError(f"{name} must be finite and not negative")
    totals = array.sum(axis=1, keepdims=True)
    if np.abs(totals - 1.0).max() > SUM_TOLERANCE:
        worst = int(np.abs(totals - 1.0).argmax())
        raise ValueError(f"{name} row {worst} sums to {totals[worst, 0]:g}, not to 1")
    return np.asarray(array / totals, dtype=np.float64)


def classes(name: str, values: ArrayLike, size: int, k: int) -> IntArray:
    """Return `values` as `size` class indices in 0..k-1."""
    array = np.atleast_1d(np.asarray(values))
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape} where ({size},) was expected")
    if not np.issubdtype(array.dtype, np.integer) or array.min() < 0 or array.max() >= k:
        raise ValueError(f"{name} must be whole numbers from 0 to {k - 1}")
    return array.astype(np.int64)
