"""Measuring a plan within a time, resumably: what the catalogue or the corpus holds is not measured again."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.plan import WRITTEN, Item
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Bench
from foretell.kernels.store import Catalogue
from foretell.kernels.task import Task

_AHEAD = 600  # candidates whose builds may wait or run while others are measured


@runtime_checkable
class BuildsAhead(Protocol):
    """A bench that can begin to build what will be measured soon."""

    def expect(self, task: Task, candidates: Sequence[Candidate]) -> None: ...


@dataclass
class Tally:
    """What became of a plan so far; `left` may count some that are known."""

    measured: int = 0
    known: int = 0
    missing: int = 0
    left: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)


def collect(
    items: Iterable[Item],
    kind: str,
    bench: Bench,
    catalogue: Catalogue,
    known: Collection[str] = (),
    seconds: float = float("inf"),
    written: Path = WRITTEN,
    report: Callable[[str, Tally], None] = lambda *_: None,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Measure what is neither in `known` (ids of corpus rows) nor in the catalogue; stop when the time is up.

    Failures are kept like everything else; only faults of the machine are not, and are tried again next time.
    """
    tally = Tally()
    started = clock()
    rest = iter(items)
    groups = _groups(rest, kind, bench, catalogue, known, written, tally)
    ahead: list[tuple[Task, list[Candidate]]] = []
    while clock() - started <= seconds:
        while sum(len(group) for _, group in ahead) < _AHEAD and (following := next(groups, None)) is not None:
            ahead.append(following)
            if isinstance(bench, BuildsAhead):
                bench.expect(*following)
        if not ahead:
            break
        task, candidates = ahead.pop(0)
        done = 0
        for candidate, outcome in bench.measure(task, candidates):
            [built] = bench.build(task, [candidate])
            catalogue.put(task, candidate, built, bench.device, outcome)
            done += 1
            _count(tally, outcome)
            if clock() - started > seconds:
                break
        tally.left += len(candidates) - done
        tally.seconds = clock() - started
        report(task.name, tally)
    tally.left += sum(len(candidates) for _, candidates in ahead) + sum(1 for _ in rest)
    return tally


def _count(tally: Tally, outcome: Measurement) -> None:
    tally.statuses[outcome.status.value] += 1
    if outcome.status is not Status.INFRASTRUCTURE:
        tally.measured += 1


def _groups(
    items: Iterable[Item],
    kind: str,
    bench: Bench,
    catalogue: Catalogue,
    known: Collection[str],
    written: Path,
    tally: Tally,
) -> Iterator[tuple[Task, list[Candidate]]]:
    """Runs of items of one task, without those that need no measuring."""
    for name, run in itertools.groupby(items, key=lambda item: item.task):
        task = get(name, kind)
        wanted: dict[str, Candidate] = {}
        for item in run:
            try:
                candidate = item.candidate(written)
            except (OSError, KeyError):
                tally.missing += 1
                continue
            if candidate.likeness in known or catalogue.holds(task, candidate, bench.device):
                tally.known += 1
            else:
                wanted[candidate.id] = candidate
        if wanted:
            yield task, list(wanted.values())
