"""Unified diffs, applied to a source exactly or not at all. Pure.

Where a hunk goes is decided by its text: its old lines must stand in the source, word for word, at the line that its
heading names or at one place only. Counts in headings are not believed, for writers of diffs cannot count. Whatever
does not fit, or fits in several places, is a failure with its kind, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

_HEADING = re.compile(r"@@(?: -(?P<line>\d{1,9})(?P<count>,\d+)? \+\d+(?:,\d+)? @@.*)?")
MOST_HUNKS = 200  # each is looked for in the whole source
_BEFORE = ("diff ", "index ", "--- ", "+++ ")  # what may stand above the first hunk


class Misfit(StrEnum):
    """Why a patch was not applied. Closed."""

    NO_HUNK = "no_hunk"
    BAD_LINE = "bad_line"  # neither kept, nor added, nor removed
    NOT_FOUND = "not_found"  # its old lines are not in the source, or only above an earlier hunk
    AMBIGUOUS = "ambiguous"  # they are there several times, or there are none to go by
    NO_CHANGE = "no_change"


@dataclass(frozen=True)
class Unapplied:
    """Nothing was changed, and why; `message` can be shown to whoever wrote the patch."""

    kind: Misfit
    message: str


@dataclass
class _Hunk:
    line: int | None
    insertion: bool
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def apply_patch(source: str, patch: str) -> str | Unapplied:
    """The patched source, its last line closed; Unapplied where a hunk does not fit in exactly one way."""
    hunks = _hunks(patch)
    if isinstance(hunks, Unapplied):
        return hunks
    lines, done, made = _lines(source), 0, []
    for number, hunk in enumerate(hunks, start=1):
        place = _place(hunk, lines, done, number)
        if isinstance(place, Unapplied):
            return place
        made += [*lines[done:place], *hunk.new]
        done = place + len(hunk.old)
    made += lines[done:]
    if made == lines:
        return Unapplied(Misfit.NO_CHANGE, "the patch changes nothing")
    return "\n".join(made) + "\n" if made else ""


def is_patch(text: str) -> bool:
    """Whether a text is meant as a unified diff: it opens with a heading of one."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first.startswith(("diff --git ", "--- ")) or _HEADING.fullmatch(first.rstrip()) is not None


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _hunks(patch: str) -> list[_Hunk] | Unapplied:
    hunks: list[_Hunk] = []
    for number, line in enumerate(patch.replace("\r\n", "\n").rstrip("\n").split("\n"), start=1):
        heading = _HEADING.fullmatch(line.rstrip())
        if heading is not None:
            stated = heading["line"]
            hunks.append(_Hunk(None if stated is None else int(stated), heading["count"] == ",0"))
        elif not hunks:
            if line.strip() and not line.startswith(_BEFORE):
                return Unapplied(Misfit.BAD_LINE, f"line {number} of the patch is no heading of a file or hunk")
        elif line.startswith(("+", "-", " ")) or not line:
            if not line.startswith("+"):
                hunks[-1].old.append(line[1:])
            if not line.startswith("-"):
                hunks[-1].new.append(line[1:])
        elif not line.startswith("\\ "):  # "\ No newline at end of file"
            what = f"line {number} of the patch begins with {line[0]!r}: within a hunk it must be a blank, + or -"
            return Unapplied(Misfit.BAD_LINE, what)
    if len(hunks) > MOST_HUNKS:
        return Unapplied(Misfit.BAD_LINE, f"the patch has more than {MOST_HUNKS} hunks: send the whole file")
    return hunks or Unapplied(Misfit.NO_HUNK, "the patch has no hunk: lines that begin with @@ open one")


def _place(hunk: _Hunk, lines: Sequence[str], done: int, number: int) -> int | Unapplied:
    """Before which line of the source the hunk begins; `done` is where the hunk above it ended."""
    if not hunk.old:
        if hunk.insertion and hunk.line is not None and done <= hunk.line <= len(lines):
            return hunk.line
        what = f"hunk {number} keeps and removes no line, so where it goes is open: show the lines around it"
        return Unapplied(Misfit.AMBIGUOUS, what)
    places = occurrences(hunk.old, lines, done)
    if hunk.line is not None and hunk.line - 1 in places:
        return hunk.line - 1
    if len(places) == 1:
        return places[0]
    if places:
        what = f"the old lines of hunk {number} stand in {len(places)} places: show more of the lines around them"
        return Unapplied(Misfit.AMBIGUOUS, what)
    return Unapplied(Misfit.NOT_FOUND, f"the old lines of hunk {number} do not stand in the source: {_missing(hunk)}")


def occurrences(part: Sequence[str], lines: Sequence[str], start: int = 0) -> list[int]:
    """Where a run of lines begins in others, from `start` on, in linear time (Knuth, Morris and Pratt 1977)."""
    back = [0] * len(part)  # for each length of a match, the next shorter one that ends in the same way
    length = 0
    for i in range(1, len(part)):
        while length and part[i] != part[length]:
            length = back[length - 1]
        length += part[i] == part[length]
        back[i] = length
    found, length = [], 0
    for i in range(start, len(lines)):
        while length and (length == len(part) or lines[i] != part[length]):
            length = back[length - 1]
        length += lines[i] == part[length]
        if length == len(part):
            found.append(i + 1 - length)
    return found


def _missing(hunk: _Hunk) -> str:
    shown = next((line.strip() for line in hunk.old if line.strip()), "")
    return f"it begins with {shown[:80]!r}"
