"""The part of a journal's line that is parsed when it is first read.

Its checksum was verified with the line's. Whether it makes sense is found out when it is read, and then said with the
file and the line, as for everything else in a journal.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from foretell.kernels.store import lines
from foretell.kernels.store.errors import JournalDamaged

T = TypeVar("T")
NONSENSE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Details:
    """A JSON object as its text until someone asks for it; `line` is counted from one."""

    __slots__ = ("_content", "_line", "_path", "_text")

    def __init__(self, path: Path, line: int, text: bytes) -> None:
        self._path, self._line = path, line
        self._text: bytes | None = text
        self._content: Any = None

    def read(self, make: Callable[[Any], T]) -> T:
        """What `make` makes of the object. Raises JournalDamaged if there is none, or it makes no sense to `make`."""
        try:
            text = self._text
            if text is not None:
                self._content = lines.parse(text.decode())
                self._text = None
            return make(self._content)
        except NONSENSE as error:
            raise nonsense(self._path, self._line, error) from error


def nonsense(path: Path, line: int, error: Exception) -> JournalDamaged:
    """What to raise for a line whose checksum is right and which makes no sense."""
    return JournalDamaged(path, line, f"it cannot be what was written ({error!r})")
