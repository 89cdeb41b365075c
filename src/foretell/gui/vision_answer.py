"""Reading a vision-language model's judgement: strict about what it says, forgiving about what surrounds it. Pure.

An answer is one JSON object with three sentences, `p_bad` and `error`; prose, code fences and a model's thinking may
stand around it. Whatever could be understood in two ways is a misreading with its kind, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foretell.gui.judgement import ErrorClass
from foretell.gui.quoting import quoted
from foretell.gui.vision_prompt import NO_ERROR, RATIONALE
from foretell.lm.object import NoObject, find_object
from foretell.lm.quote import without_turns

MAX_CHARACTERS = 100_000  # no honest answer is longer
SENTENCE_CHARACTERS = 600  # of each part of the rationale that are kept
NEEDS_ERROR = 0.5  # from this chance on an answer has to say what is wrong

_NUMBER = re.compile(r"(\d{0,3}[.,]?\d{1,12})\s*(%?)")
_HEADINGS: Mapping[str, str] = {"under_mark": "Seen", "effect": "Effect", "serves_goal": "Goal"}


class Misread(StrEnum):
    """Why an answer could not be read. Closed."""

    TOO_LONG = "too_long"
    NO_ANSWER = "no_answer"  # no JSON object with `p_bad` in it
    BROKEN_JSON = "broken_json"
    TWO_ANSWERS = "two_answers"  # two objects that say different things, or one key twice
    BAD_KEYS = "bad_keys"
    BAD_NUMBER = "bad_number"
    BAD_ERROR = "bad_error"  # no error class, or none where one is needed


@dataclass(frozen=True)
class Answer:
    """`rationale` holds the three parts by name, cleaned for one line each."""

    p_bad: float
    error: ErrorClass | None
    rationale: Mapping[str, str]

    @property
    def explanation(self) -> str:
        """The three parts in quotes: the model that wrote them has read the page."""
        parts = ((_HEADINGS[name], quoted(self.rationale[name], SENTENCE_CHARACTERS)) for name in RATIONALE)
        return " ".join(f"{heading}: {said}" for heading, said in parts)


@dataclass(frozen=True)
class Unreadable:
    """No answer, and why; `message` can be shown to the model that is to try again."""

    kind: Misread
    message: str


def read(text: str) -> Answer | Unreadable:
    """The judgement that an answer's text states."""
    if len(text) > MAX_CHARACTERS:
        return Unreadable(Misread.TOO_LONG, f"the answer has {len(text)} characters; a few hundred are enough")
    found = find_object(text, "p_bad")
    return Unreadable(Misread(found.flaw.value), found.message) if isinstance(found, NoObject) else read_object(found)


def read_object(data: Mapping[str, Any]) -> Answer | Unreadable:
    """The judgement that a parsed object states; keys beside those asked for are left aside."""
    if missing := [name for name in (*RATIONALE, "p_bad", "error") if name not in data]:
        return Unreadable(Misread.BAD_KEYS, f"the object lacks {', '.join(missing)}")
    for name in RATIONALE:
        if not isinstance(data[name], str) or not _line(data[name]):
            return Unreadable(Misread.BAD_KEYS, f"{name} must be a sentence or two")
    p_bad = _chance(data["p_bad"])
    if p_bad is None:
        message = f"p_bad must be a plain number from 0 to 1, got {repr(data['p_bad'])[:40]}"
        return Unreadable(Misread.BAD_NUMBER, message)
    error = _error(data["error"])
    if isinstance(error, Unreadable):
        return error
    if error is None and p_bad >= NEEDS_ERROR:
        return Unreadable(Misread.BAD_ERROR, f"with p_bad at {p_bad:g}, error must name what is wrong")
    return Answer(p_bad, error, {name: _line(data[name]) for name in RATIONALE})


def _chance(value: Any) -> float | None:
    """The chance that a value states: a number from 0 to 1, also as text, or a percentage with its sign."""
    if isinstance(value, str) and (written := _NUMBER.fullmatch(value.strip())):
        value = float(written[1].replace(",", ".")) / (100.0 if written[2] else 1.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return None
    return float(value)


def _error(value: Any) -> ErrorClass | Unreadable | None:
    if value is None or value == NO_ERROR:
        return None
    try:
        return ErrorClass(value)
    except ValueError:
        names = ", ".join([*(error.value for error in ErrorClass), NO_ERROR])
        return Unreadable(Misread.BAD_ERROR, f"error must be one of {names}, got {repr(value)[:40]}")


def _line(text: str) -> str:
    """Foreign text fit for one line of an agent's prompt."""
    whole = "".join(c if c.isprintable() else " " for c in text[: 4 * SENTENCE_CHARACTERS])
    line = without_turns(" ".join(whole.split()))
    return line if len(line) <= SENTENCE_CHARACTERS else f"{line[:SENTENCE_CHARACTERS]}…"
