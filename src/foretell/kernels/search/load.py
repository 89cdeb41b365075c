"""Reading a run back from its journal."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from foretell.kernels.search.events import event_from
from foretell.kernels.search.state import RunState
from foretell.kernels.store.errors import JournalDamaged
from foretell.kernels.store.journal import JOURNAL_NAME, Entry, entries_of
from foretell.kernels.store.seal import is_sealed


def load_run(run_dir: Path) -> RunState:
    """The state of a run as its journal has it; reads only, and may be called while the run is going on.

    NoRun where there is none, JournalDamaged where the journal is not what was written.
    """
    with _without_collector():
        return replay(run_dir / JOURNAL_NAME, entries_of(run_dir))


def started_here(state: RunState) -> bool:
    """Whether this user's Foretell started the run with this very configuration; False for a received one."""
    started = state.started
    return started is not None and is_sealed(started.sealed_content(), started.seal)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Nothing is thrown away while a journal is read: looking for garbage again and again would take half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def replay(path: Path, entries: Iterable[Entry]) -> RunState:
    """The state after these entries; JournalDamaged with the line number where one makes no sense."""
    state = RunState()
    for number, entry in enumerate(entries, start=1):
        try:
            state.apply(event_from(entry.event, entry.payload))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise JournalDamaged(path, number, f"it cannot be what was written ({error!r})") from error
    return state
