"""Configurations as points: what a surrogate is told about each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Value = int | float | str | bool

MOST_TWOS = 5  # a multiple of 32 is as round as a warp can tell
MOST_PLACES = 256  # on one curve: its eigenvectors take time that grows by their cube
FAR = 1e6
ROWS_AT_ONCE = 4096  # of which differences are taken
FEWEST_ROUND = 3  # no parameter's powers of two are worth more than a third of all roundness
_THREADS = ("block_size_", "threads_", "num_threads")


@dataclass(frozen=True)
class Points:
    """Rows as a surrogate sees them.

    `features` are within 0 and 1: where each value stands among its parameter's (by its logarithm where all are above
    zero), how often it can be halved, whether it is a power of two, and how many threads a block has. `basis` spans a
    smooth curve over each parameter alone. `words` are indices of texts: it is as if both had one column for each of
    them, of which there are `word_columns` in all. `roundness` is the share of powers of two among the values of
    parameters that have others too, these taken for FEWEST_ROUND at least.
    """

    features: FloatArray
    basis: FloatArray
    roundness: FloatArray
    words: IntArray
    word_columns: int = 0

    def __len__(self) -> int:
        return len(self.features)

    @property
    def width(self) -> int:
        """How many features there are."""
        return int(self.features.shape[1]) + self.word_columns

    def variances(self) -> FloatArray:
        """The inner product of each row's basis with itself."""
        parts = (self.basis[some] for some in self._slices())
        return np.asarray(np.concatenate([(part**2).sum(axis=1) for part in parts]) + self.words.shape[1])

    def covariances(self, row: int) -> FloatArray:
        """The inner product of each row's basis with that of one row."""
        return np.asarray(self.basis @ self.basis[row] + (self.words == self.words[row]).sum(axis=1))

    def squared_distances(self, row: int) -> FloatArray:
        """Between the features of each row and of one row."""
        own = self.features[row]
        numbers = np.concatenate([((self.features[some] - own) ** 2).sum(axis=1) for some in self._slices()])
        return np.asarray(numbers + 2.0 * (self.words != self.words[row]).sum(axis=1))

    def squared_between(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Between the features of these rows and of others."""
        numbers = ((self.features[rows][:, None, :] - self.features[others][None, :, :]) ** 2).sum(axis=2)
        apart = self.words[rows][:, None, :] != self.words[others][None, :, :]
        return np.asarray(numbers + 2.0 * apart.sum(axis=2))

    def _slices(self) -> list[slice]:
        return [slice(start, start + ROWS_AT_ONCE) for start in range(0, max(1, len(self)), ROWS_AT_ONCE)]


def encode(parameters: Mapping[str, Sequence[Value]], codes: IntArray) -> Points:
    """Points for rows of indices into the parameters' values; parameters that do not vary say nothing."""
    features: list[FloatArray] = [np.zeros((len(codes), 0))]
    basis: list[FloatArray] = [np.zeros((len(codes), 0))]
    words: list[IntArray] = [np.zeros((len(codes), 0), dtype=np.int64)]
    word_columns = 0
    roundness: list[FloatArray] = []
    threads: list[FloatArray] = []
    for (name, values), column in zip(parameters.items(), codes.T, strict=True):
        used = np.unique(column)
        if len(used) < 2:
            continue
        if any(isinstance(v, str) for v in values):
            words.append(column)
            word_columns += len(used)
            continue
        numbers = np.array([float(v) for v in values])
        place = _unit(np.log2(numbers) if (numbers > 0).all() else numbers, used)
        features.append(place[column])
        curve = [_curve(place)]
        if len(used) > 3:
            for measure in (_twos, _power_of_two):
                level = _unit(measure(numbers), used)
                if not np.allclose(level[used], place[used]) and np.ptp(level[used]) > 0:
                    features.append(level[column])
                    curve.append(_curve(level))
            powers = _power_of_two(numbers)
            if np.ptp(powers[used]) > 0:
                roundness.append(powers[column])
        basis += [each[column] / np.sqrt(len(curve)) for each in curve]
        if name.startswith(_THREADS) and (numbers > 0).all():
            threads.append(np.log2(numbers)[column])
    if len(threads) > 1:
        total = np.sum(threads, axis=0)
        place = _unit(total, np.arange(len(total)))
        levels, which = np.unique(np.round(place, 9), return_inverse=True)
        features.append(place)
        if len(levels) <= 64:
            basis.append(_curve(levels)[which])
    overall = np.sum(roundness, axis=0) / max(FEWEST_ROUND, len(roundness)) if roundness else np.zeros(len(codes))
    count = len(codes)
    return Points(_joined(features, count), _joined(basis, count), overall, np.column_stack(words), word_columns)


def _joined(parts: list[FloatArray], count: int) -> FloatArray:
    """Columns beside one another; takes the parts out of the list, so that none is in memory twice for long."""
    whole = np.empty((count, sum(part.shape[1] if part.ndim > 1 else 1 for part in parts)))
    end = whole.shape[1]
    while parts:
        part = parts.pop()
        start = end - (part.shape[1] if part.ndim > 1 else 1)
        whole[:, start:end] = part if part.ndim > 1 else part[:, None]
        end = start
    return whole


def _unit(numbers: FloatArray, used: IntArray) -> FloatArray:
    """Where each number stands between the least (0) and the largest (1) of those used; others are FAR at most."""
    halves = numbers / 2.0  # whose span is finite
    low, high = halves[used].min(), halves[used].max()
    with np.errstate(over="ignore"):
        return np.clip((halves - low) / (high - low), -FAR, FAR) if high > low else np.zeros(len(numbers))


def _twos(numbers: FloatArray) -> FloatArray:
    """How often each whole number can be halved, up to MOST_TWOS; 0 for 0 and for fractions."""
    found = [next((k for k in range(MOST_TWOS, 0, -1) if n and n % 2**k == 0), 0) for n in numbers.tolist()]
    return np.array(found, dtype=np.float64)


def _power_of_two(numbers: FloatArray) -> FloatArray:
    return np.array([n >= 1 and math.log2(n).is_integer() for n in numbers.tolist()], dtype=np.float64)


def _curve(place: FloatArray) -> FloatArray:
    """Rows whose inner products are a Matern kernel over places in 0 to 1; of very many, over MOST_PLACES of them."""
    if len(place) > MOST_PLACES:
        places, which = np.unique(np.round(np.clip(place, 0.0, 1.0) * (MOST_PLACES - 1)), return_inverse=True)
        return np.asarray(_curve(places / (MOST_PLACES - 1))[which])
    distance = np.sqrt(5.0) * np.abs(place[:, None] - place[None, :]) / 0.5
    kernel = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    values, vectors = np.linalg.eigh(kernel)
    kept = values > 1e-6
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]), dtype=np.float64)
