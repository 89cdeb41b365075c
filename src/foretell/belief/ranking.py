"""Ranking: does a forecast put the faster candidates first, and what does trusting it lose.

`predicted` is any score that rises with the speedup hoped for (a forecast's mean, `prob_above`...); `measured_log2`
is log2 of the measured speedup. Where a question has no answer (a constant column, no pair far enough apart, a pool
in which everything failed) the result is NaN; NaN in the input, or columns of different length, raise ValueError.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from foretell.belief._arrays import FloatArray, IntArray, vector, vectors
from foretell.belief.selective import count_for

_PAIR_ROWS = 256  # rows compared with all others at a time, so that memory stays small


def spearman(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return Spearman's rank correlation in [-1, 1], ties sharing their average rank; NaN if a column is constant."""
    a, b = (_average_ranks(column) for column in vectors("predicted measured", predicted, measured))
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(np.clip(a @ b / scale, -1.0, 1.0)) if scale > 0.0 else math.nan


def kendall(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return Kendall's tau-b in [-1, 1], corrected for ties (Knight's algorithm); NaN if a column is constant."""
    x, y = vectors("predicted measured", predicted, measured)
    n = x.size
    order = np.lexsort((y, x))
    x_rank = np.unique(x[order], return_inverse=True)[1]
    y_rank = np.unique(y[order], return_inverse=True)[1]
    pairs = n * (n - 1) // 2
    x_tied, y_tied = _tied_pairs(x_rank), _tied_pairs(y_rank)
    both_tied = _tied_pairs(x_rank * n + y_rank)
    scale = math.sqrt(float(pairs - x_tied) * float(pairs - y_tied))
    # Rows tied in x are sorted by y, so every inversion of y is a truly discordant pair.
    balance = pairs - x_tied - y_tied + both_tied - 2 * _inversions(y_rank)
    return max(-1.0, min(1.0, balance / scale)) if scale > 0.0 else math.nan


def pairwise_accuracy(predicted: ArrayLike, measured_log2: ArrayLike, noise_floor_log2: float = 0.0) -> float:
    """Return the share of pairs put in the right order, among pairs that are measurably apart.

    Pairs whose measured values are equal, or differ by less than the noise floor, are ignored. A tie in the
    prediction is half right. NaN if no pair is left.
    """
    if not noise_floor_log2 >= 0.0:
        raise ValueError(f"the noise floor must not be negative, got {noise_floor_log2!r}")
    guess, truth = vectors("predicted measured_log2", predicted, measured_log2)
    order = np.argsort(truth, kind="stable")
    guess, truth = guess[order], truth[order]
    counted, right = 0, 0.0
    for start in range(0, truth.size, _PAIR_ROWS):
        rows = slice(start, start + _PAIR_ROWS)
        gap = truth[None, :] - truth[rows, None]
        apart = (gap >= noise_floor_log2) & (gap > 0.0)
        higher = (guess[None, :] > guess[rows, None]) & apart
        equal = (guess[None, :] == guess[rows, None]) & apart
        counted += int(apart.sum())
        right += float(higher.sum()) + float(equal.sum()) / 2.0
    return right / counted if counted else math.nan


def regret(predicted: ArrayLike, measured_log2: ArrayLike, fraction: float) -> float:
    """Return the log2 speedup lost by measuring only the top ceil(fraction x n) by prediction: pool's best - top's.

    A failed candidate is -inf in `measured_log2`; the regret is infinite if the whole top failed, NaN if the whole
    pool did. Tied predictions are taken slowest first, so a constant prediction cannot be lucky and row order does
    not matter.
    """
    guess = vector("predicted", predicted)
    truth = vector("measured_log2", measured_log2, allow_infinite=True)
    if guess.size != truth.size:
        raise ValueError(f"predicted and measured_log2 differ in length: {guess.size} and {truth.size}")
    best = float(truth.max())
    if best == math.inf:
        raise ValueError("measured_log2 holds +inf; only -inf, for a failure, has a meaning")
    if best == -math.inf:
        return math.nan
    top = np.lexsort((truth, -guess))[: count_for(fraction, guess.size)]
    return best - float(truth[top].max())


def recovery(predicted: ArrayLike, measured_log2: ArrayLike, fraction: float) -> float:
    """Return the best speedup among the top ceil(fraction x n) by prediction over the best of the pool: 2^-regret.

    In (0, 1]; 0 if the whole top failed (-inf), NaN if the whole pool did. Ties as in `regret`.
    """
    return float(2.0 ** -regret(predicted, measured_log2, fraction))


def _average_ranks(column: FloatArray) -> FloatArray:
    _, at, count = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2.0)[at], dtype=np.float64)


def _tied_pairs(ranks: IntArray) -> int:
    count = np.unique(ranks, return_counts=True)[1].astype(np.int64)
    return int((count * (count - 1) // 2).sum())


def _inversions(ranks: IntArray) -> int:
    """Count pairs i < j with ranks[i] > ranks[j] by a bottom-up merge sort, every block of a level at once."""
    n = ranks.size
    values, places, total, width = ranks.astype(np.int64), np.arange(n), 0, 1
    while width < n:
        # A block's number is added as the high digit, so that all left halves together form one sorted array.
        keyed = (places // (2 * width)) * n + values
        in_left = (places // width) % 2 == 0
        left, right = keyed[in_left], keyed[~in_left]
        ends = np.searchsorted(left, (right // n + 1) * n, side="left")
        total += int((ends - np.searchsorted(left, right, side="right")).sum())
        values = np.sort(keyed) % n
        width *= 2
    return total
