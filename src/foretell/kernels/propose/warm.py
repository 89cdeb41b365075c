"""A warm start: what was fastest before, here or on other devices, is proposed before anything else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.protocols import Proposer
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.task import Task

PREFIX = "warm:"
ALONE = "alone"  # no other proposer: a task without templates, and nobody else to write candidates
COUNT = 8  # half of a usual batch: the other half is news


class WarmProposer:
    """Proposes `sources` in a run's first round, then whatever `inner` does, or nothing if there is none.

    Only the first: later rounds follow from the journal alone, whatever others have added to a catalogue meanwhile.
    """

    def __init__(self, inner: Proposer | None, sources: Sequence[Candidate]) -> None:
        self.name = PREFIX + (ALONE if inner is None else inner.name)
        self._inner = inner
        self._sources = tuple(sources)

    @property
    def wrapped(self) -> tuple[Proposer, ...]:
        """The proposer that takes over after the first round."""
        return () if self._inner is None else (self._inner,)

    def inform(self, state: Any) -> None:
        """Passed on to an inner proposer that wants to know where the run stands."""
        if (inform := getattr(self._inner, "inform", None)) is not None:
            inform(state)

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        first = set(known) <= {parent.id for parent in parents}
        below = tuple(parent.id for parent in parents[:1])
        warm = [replace(one, parents=below) for one in self._sources if first and one.id not in known][:count]
        taken = {*known, *(one.id for one in warm)} if warm else known
        if self._inner is None or len(warm) == count:
            return warm
        return warm + self._inner.propose(task, parents, count - len(warm), rng, taken)


def best_of(catalogue: Catalogue, task: Task, language: str, device: Device, count: int = COUNT) -> list[Candidate]:
    """The fastest candidates of a task that the catalogue knows in a language; none twice.

    Devices take turns, this one first: speedups on different devices are not to be compared. Who wrote each stays as it
    was; `catalogue_device` and `catalogue_speedup` in the detail of its origin say what it was chosen for.
    """
    by_device: dict[str, list[tuple[float, Candidate]]] = defaultdict(list)
    for subject, where, measurement in catalogue.of_task(task):
        if subject.candidate.language == language and measurement.ok and measurement.speedup:
            by_device[where].append((measurement.speedup, subject.candidate))
    turns = []
    for where, kept in by_device.items():
        kept.sort(key=lambda one: (-one[0], one[1].id))
        turns += [(place, where != device.id, where, *one) for place, one in enumerate(kept[:count])]
    found: dict[str, Candidate] = {}
    for _, _, where, speedup, candidate in sorted(turns, key=lambda turn: turn[:3]):
        if len(found) < count and candidate.id not in found:
            detail = {**candidate.origin.detail, "catalogue_device": where, "catalogue_speedup": speedup}
            found[candidate.id] = replace(candidate, origin=Origin(candidate.origin.kind, detail))
    return list(found.values())
