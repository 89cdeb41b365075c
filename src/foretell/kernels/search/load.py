"""Reading a run back from its journal."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from foretell.kernels.search.events import Event, event_from
from foretell.kernels.search.state import RunState
from foretell.kernels.store.details import NONSENSE, nonsense
from foretell.kernels.store.journal import JOURNAL_NAME, Entry, entries_of
from foretell.kernels.store.seal import is_sealed
from foretell.received_limits import size_of, within_limits

_CHUNK = 1024


def load_run(run_dir: Path) -> RunState:
    """The state of a run as its journal has it; reads only, and may be called while the run is going on.

    Sources, builds and samples are made when they are first read. Raises NoRun if there is none, JournalDamaged, now or
    then, if the journal is not what was written, and TooMuchWork if it takes far longer to read than its size allows.
    """
    with within_limits(run_dir, size_of(run_dir)), without_collector():
        return replay(run_dir / JOURNAL_NAME, entries_of(run_dir))


def make_all(state: RunState) -> None:
    """Make what is made when first read. Raises JournalDamaged if a part of the journal makes no sense."""
    for node in state.nodes.values():
        if node.candidate and node.measurement is not None:
            _ = node.measurement.timings


def started_here(state: RunState) -> bool:
    """Whether this user's Foretell started the run with this very configuration; False for a received one."""
    started = state.started
    return started is not None and is_sealed(started.sealed_content(), started.seal)


@contextmanager
def without_collector() -> Iterator[None]:
    """Nothing is thrown away while a run is read: looking for garbage again and again would take half the time.

    Afterwards all objects count as old, so that the next look at the young ones does not go through a whole run.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if enabled:
            gc.enable()


def replay(path: Path, entries: Iterable[Entry]) -> RunState:
    """The state after these entries; JournalDamaged with the line number where one makes no sense.

    Many lines are read, then many events made, then many applied: a processor's caches are too small for all three.
    """
    state, number, rest = RunState(), 0, iter(entries)
    while chunk := list(islice(rest, _CHUNK)):
        events: list[Event] = []
        fault: Exception | None = None
        try:
            for entry in chunk:
                events.append(event_from(entry.event, entry.payload, entry.details))
        except NONSENSE as error:
            fault = error  # told after those before it were applied, since one of them may be the first that is odd
        for event in events:
            number += 1
            try:
                state.apply(event)
            except NONSENSE as error:
                raise nonsense(path, number, error) from error
        if fault is not None:
            raise nonsense(path, number + 1, fault) from fault
    return state
