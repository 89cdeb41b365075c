"""A candidate: source text in one language, where it came from, and an identity that ignores comments and spacing."""

from __future__ import annotations

import hashlib
import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

PYTHON_LANGUAGES = frozenset({"triton", "torch", "cuda"})
LANGUAGES = frozenset({"cpp"}) | PYTHON_LANGUAGES

_C_TOKENS = re.compile(
    # What is left open ends at the end of the text or line, so that no input makes the search start over and over.
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|'(?:\\.|[^'\\\n])*(?:'|$)""",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Origin:
    """Who wrote the source: `reference`, `template` (with its name and knobs), `model` or `person`."""

    kind: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """Source text for one task in one language. Equal `id` means: the same program for the same task."""

    task: str
    language: str
    source: str
    origin: Origin = Origin("person")
    parents: tuple[str, ...] = ()

    @cached_property
    def id(self) -> str:
        text = "\0".join((self.task, self.language, normalise(self.source, self.language)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "task": self.task,
            "language": self.language,
            "source": self.source,
            "origin": {"kind": self.origin.kind, "detail": dict(self.origin.detail)},
            "parents": list(self.parents),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Candidate:
        origin = Origin(data["origin"]["kind"], dict(data["origin"]["detail"]))
        return Candidate(data["task"], data["language"], data["source"], origin, tuple(data["parents"]))


def strip_comments(source: str, language: str) -> str:
    """The source without comments: what a forecaster sees, so that no remark gives the answer away."""
    if language in PYTHON_LANGUAGES:
        return _strip_python(source)
    return _C_TOKENS.sub(lambda match: " " if match.group().startswith("/") else match.group(), source)


def normalise(source: str, language: str) -> str:
    """Comment-free text with runs of blanks folded and empty lines removed.

    Line structure is kept (C preprocessor lines need it), and so is indentation where it has meaning.
    """
    lines = strip_comments(source, language).splitlines()
    if language in PYTHON_LANGUAGES:
        kept = (line.rstrip() for line in lines)
    else:
        kept = (" ".join(line.split()) for line in lines)
    return "\n".join(line for line in kept if line.strip())


def _strip_python(source: str) -> str:
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return source  # does not parse: it will fail in the build, and its text is its own best name
    lines = source.splitlines(keepends=True)
    for token in tokens:
        row, column = token.start
        line = lines[row - 1]
        lines[row - 1] = line[:column].rstrip() + line[column + len(token.string) :]
    return "".join(lines)
