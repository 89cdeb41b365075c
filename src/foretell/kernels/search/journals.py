"""Where the events of a run are kept: a file that outlives the process, or memory.

A search is given one of these. It opens it, reads back what is there and appends; what `append` returns is the event as
a reader would find it, so that a resumed run knows exactly what the first one knew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from foretell.kernels.search.events import Event, event_from, to_stored
from foretell.kernels.search.load import make_all, replay, without_collector
from foretell.kernels.search.state import RunState
from foretell.kernels.store.journal import JOURNAL_NAME, Journal, Torn
from foretell.received_limits import size_of, within_limits


class RunJournal(Protocol):
    """A journal of events, open between `__enter__` and `__exit__`.

    `place` names it in messages. A `durable` one outlives the process: its events carry the user's mark, and what was
    measured goes to the catalogue. `torn` tells of a line that a crash had cut short.
    """

    place: Path
    durable: bool
    torn: Torn | None

    def exists(self) -> bool:
        """Whether there is something to open, without opening it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def state(self) -> RunState:
        """The fold of all events."""
        ...

    def append(self, event: Event) -> Event:
        """Write one event and return it as read back."""
        ...


class FileJournal:
    """The journal in a run's directory, held by this process alone while it is open.

    It may have been received: opening it and its state raise TooMuchWork as `load_run` does.
    Without `fsync` a power cut may lose the latest lines; for fakes and benchmarks.
    """

    durable = True

    def __init__(self, run_dir: Path, clock: Callable[[], float] = time.time, fsync: bool = True) -> None:
        self.place = run_dir
        self.torn: Torn | None = None
        self._clock, self._fsync = clock, fsync
        self._journal: Journal | None = None

    def exists(self) -> bool:
        return os.path.lexists(self.place / JOURNAL_NAME)

    def __enter__(self) -> Self:
        with self._reading():
            self._journal = Journal.open(self.place, self._clock, self._fsync)
        self.torn = self._journal.torn
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def state(self) -> RunState:
        journal = self._open
        with self._reading():
            state = replay(journal.path, journal.entries)
            make_all(state)  # nothing is decided on from a journal of which a part makes no sense
        return state

    def append(self, event: Event) -> Event:
        entry = self._open.append(*to_stored(event))
        return event_from(entry.event, entry.payload, entry.details)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with within_limits(self.place, size_of(self.place)), without_collector():
            yield

    @property
    def _open(self) -> Journal:
        if self._journal is None:
            raise RuntimeError(f"the journal in {self.place} is not open")
        return self._journal


class MemoryJournal:
    """Events in a list, for searches whose run nobody wants to keep: replays, tests, short scripts."""

    durable = False

    def __init__(self) -> None:
        self.place = Path("memory")
        self.torn: Torn | None = None
        self.events: list[Event] = []

    def exists(self) -> bool:
        return bool(self.events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def state(self) -> RunState:
        return RunState.fold(self.events)

    def append(self, event: Event) -> Event:
        self.events.append(event)
        return event
