"""The strategies by name: `puct` (see there), `greedy`, `beam` and `islands`, and `random` as the control.

All work on the archive's arrays, so that choosing costs little however long the run.
"""

from __future__ import annotations

import numpy as np

from foretell.kernels.profiles import BeamSettings, Profile
from foretell.kernels.search.puct import PuctStrategy
from foretell.kernels.search.strategy import Archive, FloatArray, IntArray, Strategy


class GreedyStrategy:
    """Expand the nodes with the highest values; ties go to the older node."""

    name = "greedy"

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        nodes = _with_values(archive)
        return _ids(archive, nodes[np.argsort(-archive.values[nodes], kind="stable")[:count]])


class RandomStrategy:
    """Expand nodes drawn at random, each as likely as any other."""

    name = "random"

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        return _ids(archive, rng.permutation(_with_values(archive))[:count])


class BeamStrategy:
    """Expand the best `width` nodes of each distance from the reference, one level after the other.

    Nodes that were never expanded come first, from the reference downwards, so that a beam is complete before the next
    one starts; then those expanded least, from the deepest level upwards. The beam ends `patience` levels below the
    best node of all: where it leads to nothing better, it is taken up again further up, and each time round every node
    of it gets more children. Ties go to the better node, then to the older.
    """

    name = "beam"

    def __init__(self, settings: BeamSettings) -> None:
        self._width = settings.width
        self._patience = settings.patience

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        nodes = _with_values(archive)
        values, depths = archive.values[nodes], archive.depths[nodes]
        end = depths[np.argmax(values)] + self._patience
        beam = np.flatnonzero((_places(values, depths) < self._width) & (depths < end))
        times = archive.expanded[nodes[beam]]
        level = np.where(times == 0, depths[beam], -depths[beam])
        order = np.lexsort((-values[beam], level, times))
        return _ids(archive, nodes[beam[order[:count]]])


class IslandsStrategy:
    """MAP-Elites: expand the best nodes of cells drawn at random, a cell being what nodes that are built alike share.

    Each cell is as likely as any other, however good or full it is. Where there are fewer cells than nodes wanted, the
    second best of each follow in the same order, and so on.
    """

    name = "islands"

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        nodes = _with_values(archive)
        values = archive.values[nodes]
        _, first, cells = np.unique(archive.cells()[nodes], return_index=True, return_inverse=True)
        turn = np.empty(len(first), dtype=np.int64)
        turn[np.argsort(first)] = rng.permutation(len(first))  # cells in order of arrival: their numbers may differ
        order = np.lexsort((turn[cells], _places(values, cells)))
        return _ids(archive, nodes[order[:count]])


STRATEGIES = ("puct", "greedy", "beam", "islands", "random")


def make_strategy(name: str, profile: Profile) -> Strategy:
    """The strategy of that name with a profile's settings; ValueError with the known names otherwise."""
    match name:
        case "puct":
            return PuctStrategy(profile.puct)
        case "greedy":
            return GreedyStrategy()
        case "beam":
            return BeamStrategy(profile.beam)
        case "islands":
            return IslandsStrategy()
        case "random":
            return RandomStrategy()
        case _:
            raise ValueError(f"there is no strategy {name!r}; choose one of {', '.join(STRATEGIES)}")


def _with_values(archive: Archive) -> IntArray:
    return np.flatnonzero(~np.isnan(archive.values))


def _ids(archive: Archive, nodes: IntArray) -> list[str]:
    return [archive.ids[node] for node in nodes.tolist()]


def _places(values: FloatArray, groups: IntArray) -> IntArray:
    """The place of each among those of its group: 0 for the best, ties in order of arrival."""
    order = np.lexsort((-values, groups))
    ranked = groups[order]
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    return places
