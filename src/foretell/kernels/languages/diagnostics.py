"""What a compiler said, fit to be shown and to be sent to a language model: the one place where that is decided.

A source can have a compiler print any file that it can read: `#include "/home/me/secret"` puts the file's lines into
the error text, `static_assert(false, MACRO)` its words into a message about the source itself. So of a log only this
stays: lines of the candidate's own text, and messages that name no other file, in which each word is one of the
candidate's or of `vocabulary`; others become an ellipsis.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files

MESSAGE_CHARACTERS = 2000
REDACTED = "…"
OWN_NAMES = frozenset({"kernel.cpp", "kernel.cu", "<source>", "{standard input}", "<stdin>", "ptxas", "nvcc", "ld"})
_OWN_PATHS = re.compile(
    r"(?:.*/)?(?:candidate_[0-9a-f]{24,}\.py|cc[A-Za-z0-9]{6}\.[os]|tmp[\w.-]*\.(?:ptx|s|ii|cubin))"
)

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_LOCATED = re.compile(r"(?P<file>[^\s'\"‘“:(][^:(\n]*?)(?::\d+(?::\d+)?|\(\d+\)|, line \d+)(?=[:;,\s]|$)")
_FILE = re.compile(r"(?<![\w.])(?:\.{0,2}/)[\w.+-]+(?:/[\w.+-]*)*")
_GUTTER = re.compile(r"^\s*\d*\s*\|")
_POINTERS = re.compile(r"^[\s|~^+.-]*$")
_WORD = re.compile(r"[^\W\d]\w*|\d[\w.]*")
_QUOTED = re.compile(r"‘[^’]*’|“[^”]*”|'[^']*'|\"[^\"]*\"|`[^']*'")
_FREE_TEXT = re.compile(r"static assertion failed|static_assert failed|#error|#warning|#pragma message|user-defined")
_RAISED = re.compile(r"[A-Z]\w*(?:Error|Exception|Warning)")
_LONGEST_NUMBER = 10
_MOST_LINE_CHARACTERS = 400
MOST_LOG_CHARACTERS = 200_000  # read at all: a source can have a compiler print megabytes


def plain(text: str, most_characters: int = MOST_LOG_CHARACTERS) -> str:
    """Text that does nothing but show: no terminal sequences, no control or invisible characters.

    Only its first MOST_LOG_CHARACTERS are looked at.
    """
    text = _ESCAPE.sub("", text[:MOST_LOG_CHARACTERS])
    return "".join(c for c in text if c in "\n\t" or c.isprintable())[:most_characters]


def ends(text: str, most_characters: int) -> str:
    """A text without its middle where it is long: compilers say first where an error is, and last what it is."""
    if len(text) <= most_characters:
        return text
    head = most_characters // 3
    return f"{text[:head]}\n{REDACTED}\n{text[head + len(REDACTED) + 2 - most_characters :]}"


def diagnostics(log: str, source: str, names: Collection[str] = (), most_characters: int = MESSAGE_CHARACTERS) -> str:
    """A compiler's log without anything that is not the candidate's or the compiler's own words.

    Args:
        log: What the compiler printed; only its first MOST_LOG_CHARACTERS are read.
        source: The text that it was given.
        names: Files that are this text, as the compiler was given them, beside those that it always has here.
        most_characters: Where the result is cut.
    """
    own_lines = {" ".join(line.split()) for line in source.splitlines()}
    every = {*OWN_NAMES, *names}
    own_words = {*_WORD.findall(source), *(word for name in every for word in _WORD.findall(name))}
    kept: list[str] = []
    kept_characters = 0
    for raw in plain(log).splitlines():
        if kept_characters > most_characters:
            break
        line = raw.rstrip()[:_MOST_LINE_CHARACTERS]
        if _POINTERS.fullmatch(line):
            shown = line if kept and kept[-1] else ""  # where the line above is gone there is nothing to point at
        elif " ".join(_GUTTER.sub("", line).split()) in own_lines:
            shown = line
        elif _GUTTER.match(line):
            shown = ""  # a line of another file
        else:
            shown = _redacted(line, own_words, every)
        kept.append(shown)
        kept_characters += len(shown)
    text = re.sub(r"\n{2,}", "\n", "\n".join(kept)).strip("\n")
    return (text or "the compiler failed in a file that is not the candidate's")[:most_characters]


def _redacted(line: str, own: Collection[str], names: Collection[str]) -> str:
    """A message with what is foreign replaced; nothing where it is about another file or little would be left."""
    files_named = {match["file"].strip() for match in _LOCATED.finditer(line)}
    if any(not _is_own(name, names) for name in files_named if "/" in name or "." in name):
        return ""
    line = _FILE.sub(lambda match: match.group() if _is_own(match.group(), names) else REDACTED, line)
    free = _FREE_TEXT.search(line)
    head, tail = (line[: free.end()], line[free.end() :]) if free else (line, "")
    quotes = [match.span() for match in _QUOTED.finditer(head)]

    def one(match: re.Match[str]) -> str:
        quoted = any(start < match.start() < end for start, end in quotes)
        return match.group() if _is_known(match.group(), own, numbers=not quoted) else REDACTED

    shown = _WORD.sub(one, head) + _WORD.sub(lambda m: m.group() if m.group() in own else REDACTED, tail)
    shown = re.sub(rf"{REDACTED}(?:[^\w\s]*{REDACTED})+", REDACTED, shown)
    words = _WORD.findall(shown)
    return shown if len(words) > shown.count(REDACTED) else ""


def _is_own(name: str, names: Collection[str]) -> bool:
    return name in names or name.split(" ")[-1] in names or _OWN_PATHS.fullmatch(name.split(" ")[-1]) is not None


def _is_known(word: str, own: Collection[str], numbers: bool) -> bool:
    if word in own:
        return True
    if word[0].isdigit():
        return numbers and len(word) <= _LONGEST_NUMBER
    return word.lower() in vocabulary() or _RAISED.fullmatch(word) is not None


@cache
def vocabulary() -> frozenset[str]:
    """Words of compilers' messages, of the languages and of their standard libraries, in lower case."""
    return frozenset(files(__package__).joinpath("vocabulary.txt").read_text(encoding="utf-8").split())
