"""Code blocks of a page of the docs: files that they hold, and commands to run.

A block whose first line is `# file: NAME` or `// file: NAME` is that file; blocks marked `sh` are commands, one per
line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"^(?:#|//) file: (\S+)\n")


@dataclass(frozen=True)
class Step:
    """A file to write (`name` and `text`), or the words of a command to run."""

    name: str = ""
    text: str = ""
    command: tuple[str, ...] = ()


def steps(page: Path, heading: str) -> Iterator[Step]:
    """What the blocks below a heading of the second level say, in order; ValueError if there is no such heading."""
    sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [section for section in sections if section.startswith(f"{heading}\n")]
    if not found:
        raise ValueError(f"{page} has no heading {heading!r}")
    for language, text in _FENCED.findall(found[0]):
        if file := _FILE.match(text):
            yield Step(name=file[1], text=text[file.end() :])
        elif language == "sh":
            for line in text.splitlines():
                yield Step(command=tuple(shlex.split(line, comments=True)))
