"""Where a verb writes: output for people, or exactly one JSON document on standard output, progress elsewhere."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]


def people(as_json: bool = False) -> Console:
    """The console for people: standard output, or standard error where standard output belongs to a JSON document."""
    return Console(stderr=as_json, highlight=False, emoji=False)


def progress_console() -> Console:
    """The console for progress, which never belongs on standard output."""
    return Console(stderr=True, highlight=False, emoji=False)


def document(data: Any) -> None:
    """Print the one JSON document."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()
