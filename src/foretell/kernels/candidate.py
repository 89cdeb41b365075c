"""A candidate: source text in one language, where it came from, and an identity that is that of its exact text.

Comments are part of the identity: a program can read its own file, its docstrings and its line numbers, so two texts
that differ in a comment may do different things. `likeness` ignores comments and spacing; nothing is trusted by it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tokenize
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from foretell.kernels.python_text import tree
from foretell.kernels.typed import all_text, typed, unchecked
from foretell.received import check_text

PYTHON_LANGUAGES = frozenset({"triton", "torch", "cuda"})
LANGUAGES = frozenset({"cpp"}) | PYTHON_LANGUAGES

_ID_CHARACTERS = 32  # 128 bits: nobody finds two texts with one id
_LIKENESS_CHARACTERS = 16
_LONG_LINE = 1000  # characters
_C_TOKENS = re.compile(
    # What is left open ends at the end of the text or line, so that no input makes the search start over and over.
    r"""(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?(?:\)(?P=mark)"|\Z)"""  # a raw string has no comments
    r"""|(?<![\w.])\.?\d[\w.]*(?:'\w[\w.]*)+"""  # 1'000: these quotes open nothing
    r"""|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)"""
    r"""|"(?:\\(?:.|\Z)|[^"\\\n])*(?:"|$)|'(?:\\(?:.|\Z)|[^'\\\n])*(?:'|$)""",
    re.DOTALL | re.MULTILINE,
)


_WORDS = "naive|slow|fast|optimi[sz]ed|baseline|wrong|broken|buggy"
_TELLING = re.compile(_WORDS, re.IGNORECASE)
# A name with such a word in it. Intrinsics (`__fast...`), library functions (`.fast_expf`) and nvcc's option keep it.
TELLING_NAME = re.compile(rf"(?<!\w)(?!__)(?!use_fast_math\b)(?<!\.(?=fast_))\w*(?:{_WORDS})\w*", re.IGNORECASE)


@dataclass(frozen=True)
class Origin:
    """Who wrote the source: `reference`, `template` (with its name and knobs), `model` or `person`."""

    kind: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """Source text for one task in one language. Equal `id` means: the same text for the same task.

    NotText is raised if it cannot be written as UTF-8.

    Equal `likeness` means: the same text but for comments and spacing. It tells what need not be proposed twice and
    which rows of a corpus are one program; what is measured or built is kept by `id` alone.
    """

    task: str
    language: str
    source: str
    origin: Origin = Origin("person")
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_text(self.source, "the source of the candidate")
        check_text((self.task, self.origin.kind, dict(self.origin.detail)), "what is told of the candidate")

    @cached_property
    def id(self) -> str:
        text = json.dumps([self.task, self.language, self.source])
        return hashlib.sha256(text.encode()).hexdigest()[:_ID_CHARACTERS]

    @cached_property
    def likeness(self) -> str:
        text = "\0".join((self.task, self.language, normalise(self.source, self.language)))
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_LIKENESS_CHARACTERS]

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
        """The candidate that `to_dict` described; ValueError, KeyError or TypeError where it makes no sense."""
        task, language, source, parents = data["task"], data["language"], data["source"], tuple(data["parents"])
        kind, detail = data["origin"]["kind"], dict(data["origin"]["detail"])
        if not isinstance(detail.get("knobs", {}), dict):
            raise ValueError("its knobs are not named values")
        origin = unchecked(Origin, {"kind": kind, "detail": detail})
        fields = {"task": task, "language": language, "source": source, "origin": origin, "parents": parents}
        candidate = unchecked(Candidate, fields)
        if type(task) is type(language) is type(source) is type(kind) is str and all_text(parents) and all_text(detail):
            return candidate
        typed(origin)
        return typed(candidate)


def strip_comments(source: str, language: str) -> str:
    """The source without comments and docstrings, those of CUDA text within Python included."""
    if language not in PYTHON_LANGUAGES or (language == "cuda" and not _is_python(source)):
        return _strip_c(source)  # a bare CUDA file too, whose preprocessor lines Python would take for comments
    return _strip_python(source)


def stripped(source: str, language: str) -> str:
    """What a forecaster may see: no remark, and no name that tells what its writer thought of it."""
    return TELLING_NAME.sub(lambda match: _TELLING.sub("some", match.group()), normalise(source, language))


@lru_cache(maxsize=16)
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


def _strip_c(source: str) -> str:
    return _C_TOKENS.sub(lambda match: " " if match.group().startswith("/") else match.group(), source)


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _strip_python(source: str) -> str:
    if not any(mark in source for mark in "#'\""):
        return source  # neither comment nor string: nothing to take out
    if max(map(len, source.split("\n"))) > _LONG_LINE and not _is_python(source):
        return source  # the tokenizer takes time by the square of a line that is not Python
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type != tokenize.NL]
    except (tokenize.TokenError, SyntaxError):
        return source  # does not parse: it will fail in the build, and its text is its own best name
    changes: list[tuple[tokenize.TokenInfo, str]] = []
    before: tokenize.TokenInfo | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == tokenize.COMMENT:
            changes.append((token, ""))
            continue
        if token.type == tokenize.STRING:
            alone = before is None or before.type in _LINE_BREAKS
            if alone and after is not None and after.type in (tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER):
                changes.append((token, ""))
            elif "__global__" in token.string:
                changes.append((token, _strip_c_in(token.string)))
        before = token
    return _changed(source, changes)


def _changed(source: str, changes: Iterable[tuple[tokenize.TokenInfo, str]]) -> str:
    """The source with tokens replaced, in order; blanks in front of what is removed go with it."""
    lines = [0, *(match.end() for match in re.finditer("\n", source))]
    pieces, done = [], 0
    for token, text in changes:
        (first, start), (last, end) = token.start, token.end
        line = max(done, lines[first - 1])
        head = source[line : lines[first - 1] + start]
        pieces += [source[done:line], head if text else head.rstrip(), text]
        done = lines[last - 1] + end
    return "".join([*pieces, source[done:]])


_LINE_BREAKS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING})


def _strip_c_in(literal: str) -> str:
    """A Python string that holds C text, without the comments of that text; as it is where an escaped newline ends one,
    with code behind it.
    """
    match = re.match(r"""(?s)([rRbBuU]*)(\"{3}|'{3}|"|')(.*)\2\Z""", literal)
    if match is None:
        return literal
    prefix, quote, inner = match.groups()
    if "r" not in prefix.lower() and any("\\n" in line.partition("//")[2] for line in inner.split("\n")):
        return literal
    return f"{prefix}{quote}{_strip_c(inner)}{quote}"
