"""What must not leave while an outside model is asked: set by a guard around its calls, read by whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from foretell.gui.history import History


@dataclass(frozen=True, eq=False)
class Scope:
    """`veil` hides the secrets of the episode; `typing` says that the step in question types one.

    `history` is what may be shown of the steps before; None where nothing else is known than what one was given.
    """

    veil: Callable[[str], str] = str
    typing: bool = False
    history: History | None = None


_NOTHING = Scope()
_SCOPE: ContextVar[Scope] = ContextVar("_SCOPE", default=_NOTHING)


def scope() -> Scope:
    """What must be kept to now. Holds in the thread that it was set in."""
    return _SCOPE.get()


@contextmanager
def within(new: Scope) -> Iterator[None]:
    before = _SCOPE.set(new)
    try:
        yield
    finally:
        _SCOPE.reset(before)
