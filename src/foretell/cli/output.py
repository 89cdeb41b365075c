"""Where a verb writes: output for people, or exactly one JSON document on standard output, progress elsewhere."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from foretell.errors import command_line

__all__ = ["AsJson", "command_line", "document", "people", "progress_console"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]


def people(as_json: bool = False) -> Console:
    """The console for people: standard output, or standard error if standard output belongs to a JSON document."""
    return _console(stderr=as_json)


def progress_console() -> Console:
    """The console for progress, which never belongs on standard output."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    """NO_COLOR also removes bold and dim text, so that what it leaves is the text alone."""
    return Console(
        stderr=stderr, highlight=False, emoji=False, color_system=None if os.environ.get("NO_COLOR") else "auto"
    )


def document(data: Any) -> None:
    """Print the one JSON document."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()
