"""A proposer that draws from recorded candidates those most like the parents: what makes a strategy's picks matter."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.candidate import Candidate
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.task import Task


class NearProposer:
    """Children differ from their parent in as few settings as what is left of the pool allows, in random order.

    Row i of `codes` has a whole number for each setting of the pool's candidate i; only whether two are equal counts.
    Children of anything that is not in the pool, as the reference, are random draws.
    """

    name = "near"

    def __init__(self, pool: Pool, codes: NDArray[np.int64]) -> None:
        self._candidates = [subject.candidate for subject in pool.subjects]
        self._codes = codes
        self._place = {candidate.id: i for i, candidate in enumerate(self._candidates)}

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Share `count` among the parents; empty only when the whole pool is known."""
        taken = set(known)
        lines = [iter(self._order(parent, rng)) for parent in parents]
        found: list[Candidate] = []
        for turn in range(count):
            parent, line = parents[turn % len(parents)], lines[turn % len(parents)]
            child = next((self._candidates[i] for i in line if self._candidates[i].id not in taken), None)
            if child is None:
                break
            taken.add(child.id)
            found.append(_below(parent, child))
        return found

    def _order(self, parent: Candidate, rng: np.random.Generator) -> NDArray[np.int64]:
        """The pool's candidates, those with the fewest settings changed first."""
        drawn = rng.permutation(len(self._candidates))
        place = self._place.get(parent.id)
        if place is None:
            return drawn
        changed = (self._codes[drawn] != self._codes[place]).sum(axis=1)
        return drawn[np.argsort(changed, kind="stable")]


def codes_of(settings: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    """Settings as whole numbers: a column for each name, where a setting that is not there is a value of its own."""
    names = sorted({name for each in settings for name in each})
    columns = []
    for name in names:
        numbers: dict[str, int] = {}
        texts = [json.dumps(each[name], sort_keys=True) if name in each else "" for each in settings]
        columns.append([numbers.setdefault(text, len(numbers)) for text in texts])
    return np.array(columns, dtype=np.int64).reshape(len(names), len(settings)).T


def _below(parent: Candidate, child: Candidate) -> Candidate:
    """The candidate as a child of the parent; its id, which takes a while to work out, does not depend on parents."""
    placed = replace(child, parents=(parent.id,))
    vars(placed)["id"] = child.id
    return placed
