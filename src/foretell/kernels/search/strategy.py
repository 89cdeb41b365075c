"""Strategies: whose children to look at next, and the archive they choose from."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_FIRST_SIZE = 16  # nodes; doubled when full
Cell = tuple[int, ...]  # a class of behaviour: nodes with the same numbers are built alike (see `descriptor`)


def _no_cell() -> Cell:
    return ()


class Archive:
    """What a strategy may know of a run: nodes by index in order of arrival, their lineage, values and expansions.

    The first node is the reference. A node without a value (failed, dropped, not yet measured) has NaN and is never a
    parent; `best_child` is the highest value among a node's children, NaN where none has one. `visits[i]` counts how
    often node i or any of its descendants was expanded, `expanded[i]` how often it was itself, `expansions` all
    expansions; `depths[i]` is its distance from the reference. Arrays are views: do not write.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.parents: list[tuple[int, ...]] = []
        self.children: list[list[int]] = []
        self.expansions = 0
        self._index: dict[str, int] = {}
        self._visits: IntArray = np.zeros(0, dtype=np.int64)
        self._expanded: IntArray = np.zeros(0, dtype=np.int64)
        self._cells: IntArray = np.zeros(0, dtype=np.int64)
        # Read and written one by one for each node: numpy would take several times as long.
        self._values = array("d")
        self._best_child = array("d")
        self._depths = array("q")
        self._grow(_FIRST_SIZE)
        self._cell_of: list[Callable[[], Cell]] = []
        self._cell_number: dict[Cell, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def values(self) -> FloatArray:
        return np.frombuffer(self._values, dtype=np.float64, count=len(self.ids))

    @property
    def best_child(self) -> FloatArray:
        return np.frombuffer(self._best_child, dtype=np.float64, count=len(self.ids))

    @property
    def visits(self) -> IntArray:
        return self._visits[: len(self.ids)]

    @property
    def expanded(self) -> IntArray:
        return self._expanded[: len(self.ids)]

    @property
    def depths(self) -> IntArray:
        return np.frombuffer(self._depths, dtype=np.int64, count=len(self.ids))

    def cells(self) -> IntArray:
        """Numbers that are equal for nodes of the same cell; -1 for nodes that never had a value.

        Which number a cell has says nothing: it depends on when it was first asked for.
        """
        for index in np.flatnonzero((self._cells < 0) & ~np.isnan(self._values)).tolist():
            cell = self._cell_of[index]()
            self._cells[index] = self._cell_number.setdefault(cell, len(self._cell_number))
        return self._cells[: len(self.ids)]

    def index(self, node_id: str) -> int:
        return self._index[node_id]

    def add(
        self,
        node_id: str,
        parents: Iterable[str],
        value: float | None = None,
        cell: Callable[[], Cell] = _no_cell,
    ) -> None:
        """Add a node below parents that are already there.

        `cell` says what cell it belongs to; it is asked at most once, and only if a strategy wants to know.
        """
        index = len(self.ids)
        if index == len(self._values):
            self._grow(2 * index)
        above = tuple([self._index[parent] for parent in parents])
        if above:
            self._depths[index] = min([self._depths[parent] for parent in above]) + 1
        self.ids.append(node_id)
        self.parents.append(above)
        self.children.append([])
        self._cell_of.append(cell)
        self._index[node_id] = index
        for parent in above:
            self.children[parent].append(index)
        self.set_value(node_id, value)

    def set_value(self, node_id: str, value: float | None) -> None:
        """Give a node a value (log2 speedup) or take it away."""
        index = self._index[node_id]
        before, after = self._values[index], math.nan if value is None else value
        self._values[index] = after
        for parent in self.parents[index]:
            best = self._best_child[parent]
            if before == best and not after >= best:
                siblings = [self._values[child] for child in self.children[parent]]
                self._best_child[parent] = max([one for one in siblings if one == one], default=math.nan)
            elif after > best or best != best:  # NaN is not itself
                self._best_child[parent] = after

    def expand(self, node_ids: Sequence[str]) -> None:
        """Count one expansion of each node, for it and all its ancestors."""
        for node_id in node_ids:
            index = self._index[node_id]
            self._visits[[index, *self.ancestors(index)]] += 1
            self._expanded[index] += 1
        self.expansions += len(node_ids)

    def _grow(self, size: int) -> None:
        """Make room for `size` nodes in new arrays: there may be views of the old ones."""
        more = size - len(self._values)
        self._values = self._values + array("d", [math.nan]) * more
        self._best_child = self._best_child + array("d", [math.nan]) * more
        self._depths = self._depths + array("q", [0]) * more
        self._visits = np.concatenate((self._visits, np.zeros(more, dtype=np.int64)))
        self._expanded = np.concatenate((self._expanded, np.zeros(more, dtype=np.int64)))
        self._cells = np.concatenate((self._cells, np.full(more, -1, dtype=np.int64)))

    def ancestors(self, index: int) -> set[int]:
        """Indices of all nodes above a node, itself left out."""
        return _reach(self.parents, index)

    def descendants(self, index: int) -> set[int]:
        """Indices of all nodes below a node, itself left out."""
        return _reach(self.children, index)


class Strategy(Protocol):
    """Picks parents. `name` goes into the run."""

    name: str

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        """At least one and at most `count` different ids of nodes that have a value, the first choice first.

        Pure: depends on nothing but its arguments and the strategy's own settings, and leaves the archive as it is.
        """
        ...


def _reach(links: Sequence[Sequence[int]], start: int) -> set[int]:
    seen: set[int] = set()
    todo = list(links[start])
    while todo:
        index = todo.pop()
        if index not in seen:
            seen.add(index)
            todo.extend(links[index])
    return seen
