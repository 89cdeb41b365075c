"""Candidates from outside, written by a person or a language model: one batch, put into a run as its next round."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from foretell.kernels.candidate import Candidate
from foretell.kernels.search.strategy import Archive
from foretell.kernels.task import Task

NAME = "told"


class ToldProposer:
    """Proposes the candidates it was given, each once, and then has nothing more.

    `name` is that of the run's own proposer where candidates are put into a run that has another one.
    """

    def __init__(self, candidates: Sequence[Candidate] = (), name: str = NAME) -> None:
        self.name = name
        self._candidates = list({candidate.id: candidate for candidate in candidates}.values())

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        return [candidate for candidate in self._candidates if candidate.id not in known][:count]


class ToldStrategy:
    """Expands the parent that the candidates were made from, under the name of the run's own strategy."""

    def __init__(self, parent: str, name: str) -> None:
        self.name = name
        self._parent = parent

    def select(self, archive: Archive, count: int, rng: np.random.Generator) -> list[str]:
        return [self._parent]
