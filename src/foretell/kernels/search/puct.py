"""PUCT over an archive of all nodes, in the shape that TTT-Discover (arXiv 2601.16175) gave it."""

from __future__ import annotations

import numpy as np

from foretell.kernels.profiles import PuctSettings
from foretell.kernels.search.strategy import Archive, FloatArray

SCORE_DIGITS = 9  # so that scores that are equal on paper tie, whatever the order of the arithmetic


class PuctStrategy:
    """Expand the nodes with the highest

        score(s) = Q(s) + c * scale * P(s) * sqrt(1 + T) / (1 + n(s))

    Q(s) is the best value among the children of s, or its own value where no child has one; P(s) is the linear rank
    prior over nodes with a value, best first: (N - rank) / (1 + 2 + ... + N); n(s) counts expansions of s and of its
    descendants, T all expansions; scale is the range of values in the archive (1 while they are all equal). Ties go to
    the older node.

    Within one batch lineages are kept apart: once a node is chosen, its ancestors and descendants are passed over,
    unless nothing else is left.
    """

    name = "puct"

    def __init__(self, settings: PuctSettings) -> None:
        self._exploration = settings.exploration

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        eligible = np.flatnonzero(~np.isnan(archive.values))
        scores = np.round(self.scores(archive)[eligible], SCORE_DIGITS)
        order = eligible[np.argsort(-scores, kind="stable")].tolist()
        chosen: list[int] = []
        blocked: set[int] = set()
        for index in order:
            if len(chosen) == count:
                break
            if index not in blocked:
                chosen.append(index)
                if len(chosen) < count:
                    blocked |= archive.ancestors(index) | archive.descendants(index)
        taken = set(chosen)
        rest = (index for index in order if index not in taken)
        chosen.extend(index for index, _ in zip(rest, range(count - len(chosen)), strict=False))
        return [archive.ids[index] for index in chosen]

    def scores(self, archive: Archive) -> FloatArray:
        """The score of every node, NaN for those without a value."""
        values = archive.values
        known = np.flatnonzero(~np.isnan(values))
        held = values[known]
        number = len(known)
        prior = np.empty(number)
        prior[np.argsort(-held, kind="stable")] = np.arange(number, 0, -1) * (2.0 / (number * (number + 1)))
        best_child = archive.best_child[known]
        quality = np.where(np.isnan(best_child), held, best_child)
        scale = float(held.max() - held.min()) or 1.0
        bonus = self._exploration * scale * np.sqrt(1.0 + archive.expansions) / (1.0 + archive.visits[known])
        scores = np.full(len(values), np.nan)
        scores[known] = quality + bonus * prior
        return scores
