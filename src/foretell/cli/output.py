"""Where a verb writes: output for people, or exactly one JSON document on standard output, progress elsewhere.

Names, messages and sources may come from strangers: their control characters reach no terminal.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from foretell.errors import command_line

__all__ = ["AsJson", "command_line", "document", "people", "progress_console", "shown"]

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # of Unicode's categories

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]


def people(as_json: bool = False) -> Console:
    """The console for people: standard output, or standard error if standard output belongs to a JSON document."""
    return _console(stderr=as_json)


def progress_console() -> Console:
    """The console for progress, which never belongs on standard output."""
    return _console(stderr=True)


def shown(text: str) -> str:
    """The text without what a terminal obeys or hides: control, formatting and bidirectional characters."""
    if text.isprintable():
        return text
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in _OBEYED)


class _PlainConsole(Console):
    """A console that shows the text it is given and obeys nothing in it; its own styles are added afterwards."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)


def _console(stderr: bool) -> Console:
    """NO_COLOR also removes bold and dim text, so that what it leaves is the text alone."""
    return _PlainConsole(
        stderr=stderr, highlight=False, emoji=False, color_system=None if os.environ.get("NO_COLOR") else "auto"
    )


def document(data: Any) -> None:
    """Print the one JSON document."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    if shown(text) != text:
        text = json.dumps(data, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
