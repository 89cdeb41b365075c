"""Trees laid out for prediction: sets of rows fall through all trees at once, a bit a row, 64 rows a word.

Following each row through each tree costs a dozen look-ups a level. Here a level of all trees is one operation on
words: the rows that reach a node and pass its test reach its left child, the others its right one. Tests that occur in
several nodes are made once. Every row ends in one leaf of each tree; the leaf's number in its tree is put together
from its binary digits, each of which is the union of half of the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from foretell.trees import Trees

_WORD = 64
_ROWS = 4 * _WORD  # rows in work at a time, and tests made at a time: what they need then fits the cache
_TESTS = 512
_MOST_SLOTS_PER_NODE = 64  # each tree has as many slots as the largest one has leaves, or nearly twice that
_LARGEST = np.finfo(np.float32).max
_ALL = ~np.uint64(0)

Places = NDArray[np.intp]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class _Level:
    """Nodes of one depth, of all trees: which are leaves and their slots, which branch and by what test."""

    leaves: Places
    slots: Places
    branches: Places
    tests: Places


@dataclass(frozen=True)
class Sieve:
    """Tests compare a line of the doubled table with a threshold; `values` has slot s of tree t at `s * trees + t`."""

    lines: Places
    thresholds: NDArray[np.float32]
    levels: Sequence[_Level]
    trees: int
    digits: int
    values: NDArray[np.float64]

    @staticmethod
    def of(trees: Trees) -> Sieve:
        """Lay out trees that lie one after the other, in which no node has two parents and a leaf points to itself."""
        own = np.arange(trees.value.size)
        leaf, count = trees.left == own, trees.roots.size
        tree = np.searchsorted(trees.roots, own, side="right") - 1
        before = np.cumsum(leaf) - leaf
        rank = before - before[trees.roots][tree]
        slots = rank * count + tree
        digits = int(rank[leaf].max()).bit_length()
        if count << digits > _MOST_SLOTS_PER_NODE * own.size:
            raise ValueError("its trees are of very different sizes")
        values = np.zeros(count << digits)
        values[slots[leaf]] = trees.value[leaf]
        lines = 2 * trees.column.astype(np.int64) + ~trees.missing_left
        thresholds = np.minimum(trees.threshold, _LARGEST)
        made, tests = np.unique(lines << 32 | thresholds.view(np.uint32), return_inverse=True)
        levels, nodes = [], trees.roots.astype(np.intp)
        while nodes.size:
            ends, inner = nodes[leaf[nodes]], nodes[~leaf[nodes]]
            levels.append(_Level(np.flatnonzero(leaf[nodes]), slots[ends], np.flatnonzero(~leaf[nodes]), tests[inner]))
            nodes = np.concatenate((trees.left[inner], trees.right[inner])).astype(np.intp)
        thresholds = (made & 0xFFFFFFFF).astype(np.uint32).view(np.float32)[:, None]
        return Sieve((made >> 32).astype(np.intp), thresholds, levels, count, digits, values)

    def sums(self, table: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The sum over all trees of the leaf that each row ends in; nan is a missing value."""
        found = [self._sums(table[start : start + _ROWS]) for start in range(0, len(table), _ROWS)]
        return np.concatenate(found) if found else np.zeros(0)

    def _sums(self, table: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        passed = self._passed(_doubled(table))
        words = len(passed)
        ends = np.zeros((words, self.trees << self.digits), dtype=np.uint64)
        here = np.full((words, self.trees), _ALL)
        for level in self.levels:
            ends[:, level.slots] = here.take(level.leaves, axis=1)
            here = here.take(level.branches, axis=1)
            left = here & passed.take(level.tests, axis=1)
            here = np.concatenate((left, here ^ left), axis=1)
        slot = self._slot(ends.reshape(words, -1, self.trees))
        leaves = self.values.take(slot * np.intp(self.trees) + np.arange(self.trees)[:, None])
        return np.asarray(leaves.sum(axis=1).ravel()[: len(table)])

    def _passed(self, lines: NDArray[np.float32]) -> Words:
        """Which rows pass each test, shape (words, tests)."""
        passed = np.empty((len(self.lines), lines.shape[1] // 8), dtype=np.uint8)
        for start in range(0, len(self.lines), _TESTS):
            some = slice(start, start + _TESTS)
            passed[some] = np.packbits(lines.take(self.lines[some], axis=0) <= self.thresholds[some], axis=1)
        return np.ascontiguousarray(passed.view(np.uint64).T)

    def _slot(self, ends: Words) -> NDArray[Any]:
        """The slot that each row ends in, shape (words, trees, 64), of the rows in each slot, (words, slots, trees)."""
        words, slots, trees = ends.shape
        found = np.zeros((words, trees, _WORD), dtype=np.min_scalar_type(slots))
        for digit in range(self.digits):
            halves = ends.reshape(words, -1, 2, 1 << digit, trees)
            union = np.bitwise_or.reduce(halves[:, :, 1], axis=(1, 2))
            bits = np.unpackbits(union.view(np.uint8), axis=1).reshape(found.shape)
            found |= bits.astype(found.dtype) << found.dtype.type(digit)
        return found


def _doubled(table: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Columns as lines, each twice: with missing values below all thresholds (they go left), and above (right).

    Lines are filled up to whole words.
    """
    rows, columns = table.shape
    lines = np.zeros((columns, -(-rows // _WORD) * _WORD), dtype=np.float32)
    lines[:, :rows] = table.astype(np.float32).T
    below, above = np.fmax(lines, np.float32(-np.inf)), np.fmin(lines, np.float32(np.inf))
    return np.stack((below, above), axis=1).reshape(2 * columns, -1)
