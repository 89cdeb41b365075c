"""A call with a time limit: whoever takes too long is left behind, and the caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TooSlow(TimeoutError):
    """The call did not end within its time."""


class Busy(RuntimeError):
    """An earlier call that took too long is still under way."""


class _Box(Generic[T]):
    def __init__(self) -> None:
        self.value: T | None = None
        self.error: BaseException | None = None


class Worker:
    """Runs one call at a time in a thread of its own. `name` says in messages who is meant."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], T], limit_s: float) -> T:
        """The call's value or its error; TooSlow after `limit_s`, Busy while an earlier one has not ended."""
        if self._thread is not None and self._thread.is_alive():
            raise Busy(f"the {self._name} is still busy with what it could not finish in time")
        box: _Box[T] = _Box()
        self._thread = threading.Thread(target=_into, args=(call, box), name=self._name, daemon=True)
        self._thread.start()
        self._thread.join(limit_s)
        if self._thread.is_alive():
            raise TooSlow(f"the {self._name} took more than {limit_s:g} s")
        self._thread = None
        if isinstance(box.error, Exception):
            raise box.error
        if box.error is not None:
            raise RuntimeError(f"the {self._name} gave up: {type(box.error).__name__}") from box.error
        value: T = box.value  # type: ignore[assignment]
        return value

    def join(self) -> None:
        """Wait until a call that was left behind has ended."""
        if self._thread is not None:
            self._thread.join()


def _into(call: Callable[[], T], box: _Box[T]) -> None:
    try:
        box.value = call()
    except BaseException as error:  # told to the caller, whatever it is
        box.error = error
