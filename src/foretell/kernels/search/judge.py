"""The judge: gets outcomes from the bench, never pays twice and never blames a candidate for the machine's faults."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Cost, Measurement, Status
from foretell.kernels.profiles import Profile
from foretell.kernels.protocols import Bench, Build
from foretell.kernels.search.state import Node
from foretell.kernels.store.catalogue import Catalogue, catalogue_key
from foretell.kernels.store.claim import Claim
from foretell.kernels.store.seal import is_sealed, seal
from foretell.kernels.task import Task

_POLL_S = 0.1


class BenchBroken(RuntimeError):
    """The bench failed to judge candidates it should have judged: the machine needs a look before the run goes on."""


class Judge:
    """A bench for one task, with retries and, if given, the catalogue of what was measured before."""

    def __init__(self, task: Task, bench: Bench, profile: Profile, catalogue: Catalogue | None) -> None:
        self._task = task
        self._bench = bench
        self._retries = profile.infrastructure_retries
        self._give_up = profile.infrastructure_give_up
        self._catalogue = catalogue
        self._faults_in_a_row = 0

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """Build all in order, trying again where the machine was at fault.

        Artifacts stay with the bench: what is forecast must follow from what the journal will hold.
        """
        builds = list(self._bench.build(self._task, candidates))
        for _ in range(self._retries):
            again = [i for i, build in enumerate(builds) if build.status is Status.INFRASTRUCTURE]
            if not again:
                break
            for i, build in zip(again, self._bench.build(self._task, [candidates[i] for i in again]), strict=True):
                builds[i] = build
        return [replace(build, artifact=None) for build in builds]

    def measure(self, nodes: Sequence[Node], hopeless_below: float | None) -> Iterator[tuple[Node, Measurement]]:
        """Measure on the device; a fault of the machine is tried again, and its cost added to the final outcome.

        BenchBroken where a node gets no outcome at all, or too many in a row only faults.
        """
        waiting = {node.id: node for node in nodes}
        spent = {node.id: Cost() for node in nodes}
        for attempt in range(1 + self._retries):
            batch = [node.candidate for node in waiting.values()]
            for candidate, outcome in self._bench.measure(self._task, batch, hopeless_below) if batch else ():
                spent[candidate.id] = _total(spent[candidate.id], outcome.cost)
                if outcome.status is not Status.INFRASTRUCTURE or attempt == self._retries:
                    yield waiting.pop(candidate.id), replace(outcome, cost=spent[candidate.id])
                    self._watch(outcome)
        if waiting:
            raise BenchBroken(f"the bench gave no outcome for {', '.join(waiting)}: resume to try again")

    def outcomes(
        self, nodes: Sequence[Node], hopeless_below: float | None
    ) -> Generator[tuple[Node, Measurement, bool], None, None]:
        """An outcome for each node, and whether it came from the catalogue; close the iterator to give up the rest.

        Nodes are reserved in the catalogue while they are measured. Those that another process has reserved come last:
        its result is awaited, and where there is none once its reservation has ended, they are measured here.
        """
        waiting = {node.id: node for node in nodes}
        while waiting:
            candidates = [node.candidate for node in waiting.values()]
            with Claim(self._catalogue, self._task, candidates, self._bench.device) as claim:
                ids = claim.ids
                mine = [node for node in waiting.values() if node.id in ids]
                for node in mine:
                    if (kept := self.recall(node)) is not None:
                        yield node, kept, True
                        del waiting[node.id]
                for node, outcome in self.measure([node for node in mine if node.id in waiting], hopeless_below):
                    yield node, outcome, False
                    del waiting[node.id]
                    claim.renew(waiting)
            if not mine:
                time.sleep(_POLL_S)
                for node in list(waiting.values()):
                    if (kept := self.recall(node)) is not None:
                        yield node, kept, True
                        del waiting[node.id]

    def _watch(self, outcome: Measurement) -> None:
        self._faults_in_a_row = self._faults_in_a_row + 1 if outcome.status is Status.INFRASTRUCTURE else 0
        if self._faults_in_a_row >= self._give_up:
            raise BenchBroken(
                f"{self._faults_in_a_row} candidates in a row could not be measured ({outcome.message}): "
                "check the device, then resume"
            )

    def recall(self, node: Node) -> Measurement | None:
        """What the catalogue holds for a node, or None."""
        if self._catalogue is None:
            return None
        return self._catalogue.get(self._task, node.candidate, self._bench.device)

    def keep(self, node: Node, measurement: Measurement) -> None:
        """Put what the device showed into the catalogue; what the compiler showed is free to find out again."""
        if self._catalogue is not None and node.build.ok:
            self._catalogue.put(self._task, node.candidate, node.build, self._bench.device, measurement)

    def seal(self, node: Node, measurement: Measurement) -> str:
        """The mark by which `keep_missing` knows its own results again."""
        return seal(self._sealed_content(node, measurement))

    def _sealed_content(self, node: Node, measurement: Measurement) -> dict[str, Any]:
        key = catalogue_key(self._task, node.candidate, self._bench.device)
        return {"key": key, "measurement": measurement.to_dict()}

    def keep_missing(self, nodes: Iterable[Node], seals: Mapping[str, str]) -> None:
        """Keep what a crash between journal and catalogue left out, if it was measured by this user here."""
        for node in nodes:
            if self._catalogue is None or node.measurement is None or node.reused:
                continue
            if not is_sealed(self._sealed_content(node, node.measurement), seals.get(node.id, "")):
                continue
            if not self._catalogue.holds(self._task, node.candidate, self._bench.device):
                self.keep(node, node.measurement)


def _total(a: Cost, b: Cost) -> Cost:
    return Cost(a.build_s + b.build_s, a.device_s + b.device_s, a.wall_s + b.wall_s)
