"""Measuring a plan within a time, resumably: what the catalogue or the corpus holds is not measured again.

Candidates are reserved in the catalogue while they are measured, so that several processes can share one plan.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.plan import WRITTEN, Item
from foretell.kernels.library import UnknownTask
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Bench
from foretell.kernels.store import Catalogue
from foretell.kernels.store.claim import Claim
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask

_NO_CANDIDATE = (OSError, LookupError, TypeError, ValueError, ArithmeticError, AssertionError, AttributeError)
_AHEAD = 600  # candidates whose builds may wait or run while others are measured


@runtime_checkable
class BuildsAhead(Protocol):
    """A bench that can begin to build what will be measured soon."""

    def expect(self, task: Task, candidates: Sequence[Candidate]) -> None: ...


@dataclass
class Tally:
    """What became of a plan so far.

    `measured` were kept in the catalogue, by status in `statuses`, which also counts faults of the machine. `disturbed`
    could not be kept because other processes used the machine, `elsewhere` are being measured by another process.
    `left` are to be measured yet, faults and `disturbed` included; some of those not looked at may be known.
    """

    measured: int = 0
    known: int = 0
    missing: int = 0
    disturbed: int = 0
    elsewhere: int = 0
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
    passed_over: Callable[[str], None] = lambda *_: None,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Measure what is neither in `known` (ids of corpus rows) nor in the catalogue; stop when the time is up.

    Failures are kept like everything else. Faults of the machine and disturbed measurements are not, and are tried
    again next time. What another process is measuring is looked at again once everything else is done. `passed_over`
    is told, in a sentence, of each line of the plan that nothing can be made of.
    """
    tally = Tally()
    started = clock()
    rest = iter(items)
    groups = _groups(rest, kind, bench, catalogue, known, written, tally, passed_over)
    ahead: deque[_Group] = deque()
    taken: list[_Group] = []
    while clock() - started <= seconds:
        while sum(len(group.candidates) for group in ahead) < _AHEAD and (following := next(groups, None)) is not None:
            ahead.append(following)
            if isinstance(bench, BuildsAhead):
                bench.expect(following.task, following.candidates)
        if not ahead:
            ahead, taken = deque(replace(group, again=True) for group in taken), []
        if not ahead:
            break
        group = ahead.popleft()
        others = _measure(group, bench, catalogue, tally, lambda: clock() - started > seconds)
        if others and group.again:
            tally.elsewhere += len(others)
        elif others:
            taken.append(replace(group, candidates=others))
        tally.seconds = clock() - started
        report(group.task.name, tally)
    tally.left += sum(len(group.candidates) for group in (*ahead, *taken)) + sum(1 for _ in rest)
    return tally


@dataclass(frozen=True)
class _Group:
    """Candidates of one task; `again` if another process was measuring them when they were first looked at."""

    task: Task
    candidates: list[Candidate]
    again: bool = False


def _measure(
    group: _Group, bench: Bench, catalogue: Catalogue, tally: Tally, is_over: Callable[[], bool]
) -> list[Candidate]:
    """Measure those that no other process is measuring, and count them; return the others."""
    with Claim(catalogue, group.task, group.candidates, bench.device) as claim:
        ids = claim.ids
        free: dict[str, Candidate] = {}
        for candidate in claim.candidates:
            if catalogue.holds(group.task, candidate, bench.device):  # since it was planned
                tally.known += 1
            else:
                free[candidate.id] = candidate
        waiting = dict(free)
        for candidate, outcome in bench.measure(group.task, list(free.values())) if free else ():
            [built] = bench.build(group.task, [candidate])
            kept = catalogue.put(group.task, candidate, built, bench.device, outcome)
            _count(tally, outcome, kept)
            if kept:
                del waiting[candidate.id]
            claim.renew(waiting)
            if is_over():
                break
        tally.left += len(waiting)
    return [candidate for candidate in group.candidates if candidate.id not in ids]


def _count(tally: Tally, outcome: Measurement, kept: bool) -> None:
    if kept:
        tally.measured += 1
        tally.statuses[outcome.status.value] += 1
    elif outcome.status is Status.INFRASTRUCTURE:
        tally.statuses[outcome.status.value] += 1
    else:
        tally.disturbed += 1


def _groups(
    items: Iterable[Item],
    kind: str,
    bench: Bench,
    catalogue: Catalogue,
    known: Collection[str],
    written: Path,
    tally: Tally,
    passed_over: Callable[[str], None],
) -> Iterator[_Group]:
    """Runs of items of one task, without those that need no measuring."""
    for _, run in itertools.groupby(items, key=lambda item: item.task):
        members = list(run)
        try:
            task = members[0].definition(kind)
        except (UnknownTask, BadTask) as error:
            tally.missing += len(members)
            passed_over(str(error))
            continue
        wanted: dict[str, Candidate] = {}
        for item in members:
            try:
                candidate = item.candidate(written)
            except _NO_CANDIDATE as error:
                tally.missing += 1
                why = error.args[0] if isinstance(error, LookupError) and error.args else str(error)
                passed_over(f"a candidate of {item.task} cannot be made: {why or type(error).__name__}")
                continue
            if candidate.likeness in known or catalogue.holds(task, candidate, bench.device):
                tally.known += 1
            else:
                wanted[candidate.id] = candidate
        if wanted:
            yield _Group(task, list(wanted.values()))
