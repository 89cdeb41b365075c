"""What a user gave that cannot be worked with: what was wrong, what was expected, what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Callable

CONTROL = (KeyboardInterrupt, SystemExit, GeneratorExit)  # not errors, though they are raised


class BadInput(ValueError):
    """What the user gave cannot be worked with; the message is what was wrong."""

    def __init__(self, what: str, expected: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what, self.expected, self.do = what, expected, do

    def __str__(self) -> str:
        more = [f"expected: {self.expected}"] if self.expected else []
        return "; ".join([self.what, *more, *([f"do: {self.do}"] if self.do else [])])


def command_line(*words: object) -> str:
    """A `foretell` command to suggest: every word is quoted for a shell where it needs to be."""
    return shlex.join(("foretell", *(str(word) for word in words)))


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text, stacklevel=3)


on_note: Callable[[str], None] = _warn


def note(text: str) -> None:
    """Tell the user something that is no error: a warning, or a line where the command line is in charge."""
    on_note(text)
