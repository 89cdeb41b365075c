"""Where a verb writes: output for people, or exactly one JSON document on standard output, progress elsewhere.

Names, messages and sources may come from strangers: their control characters reach no terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from foretell.errors import command_line

__all__ = [
    "AsJson",
    "ProgressLines",
    "command_line",
    "document",
    "line",
    "marked",
    "of_file",
    "people",
    "progress_console",
    "shown",
]

SILENT_S = 2.0
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # of Unicode's categories

_COMPILED = re.compile(r"(?<![\w./-])kernel\.(?:cpp|cu)(: In |:\d)")

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


def line(text: object) -> str:
    """Foreign text on one line: as `shown`, with a blank for each line break and tab."""
    return shown(str(text)).replace("\n", " ").replace("\t", " ")


def of_file(message: str, path: Path) -> str:
    """A compiler's message with the name of the user's file in the place of the name that the source had there."""
    return _COMPILED.sub(lambda match: f"{path.name}{match[1]}", message)


def marked(template: str, *values: object) -> Text:
    """The template with its styles (`[bold]{}[/] of {}`), each value in the place of a `{}`: plain text on one line.

    The consoles read no markup, so that this is the one place where it becomes styles.
    """
    template_text = Text.from_markup(template, emoji=False)
    text, start, left = Text(), 0, list(values)
    while (place := template_text.plain.find("{}", start)) >= 0:
        value = left.pop(0)
        inserted = value.copy() if isinstance(value, Text) else Text(line(value))
        for span in template_text[place : place + 2].spans:
            inserted.stylize_before(span.style)
        text = text + template_text[start:place] + inserted
        start = place + 2
    return text + template_text[start:]


class _PlainStatus(Status):
    """A line of progress that reads no markup."""

    def __init__(self, status: RenderableType, *args: Any, **named: Any) -> None:
        super().__init__(_plain(status), *args, **named)

    def update(self, status: RenderableType | None = None, *args: Any, **named: Any) -> None:
        super().update(_plain(status) if status is not None else None, *args, **named)


def _plain(text: RenderableType) -> RenderableType:
    return Text(text) if isinstance(text, str) else text


class _PlainConsole(Console):
    """A console that shows the text it is given and obeys nothing in it; its own styles are added afterwards."""

    def status(self, status: RenderableType, *args: Any, **named: Any) -> Status:
        """As rich's, for which a text is markup whatever the console says."""
        return _PlainStatus(status, *args, console=self, **named)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            style = segment.style.update_link(None) if segment.style and segment.style.link else segment.style
            yield segment if segment.control else Segment(shown(segment.text), style)


def _console(stderr: bool) -> Console:
    """NO_COLOR also removes bold and dim text, so that what it leaves is the text alone."""
    return _PlainConsole(
        stderr=stderr,
        highlight=False,
        emoji=False,
        markup=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


class ProgressLines:
    """Lines of progress on a standard error that is no terminal, where no status shows: none in the first seconds."""

    def __init__(self) -> None:
        self._last_s = time.monotonic()
        self._console = progress_console()

    def line(self, text: str) -> None:
        """Print the line if there was none for a while."""
        if not self._console.is_terminal and time.monotonic() - self._last_s >= SILENT_S:
            self._last_s = time.monotonic()
            self._console.print(text, soft_wrap=True)


def document(data: Any) -> None:
    """Print the one JSON document."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    if shown(text) != text:
        text = json.dumps(data, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
