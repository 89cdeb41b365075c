"""Reading a vision-language model's judgement: strict about what it says, forgiving about what surrounds it. Pure.

An answer is one JSON object with three sentences, `p_bad` and `error`; prose, code fences and a model's thinking may
stand around it. Whatever could be understood in two ways is a misreading with its kind, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foretell.gui.judgement import ErrorClass
from foretell.gui.vision_prompt import NO_ERROR, RATIONALE, defused

MAX_CHARACTERS = 100_000  # no honest answer is longer
SCANNED_CHARACTERS = 16_000  # where an object is looked for amid prose, counted from the end
SENTENCE_CHARACTERS = 600  # of each part of the rationale that are kept
NEEDS_ERROR = 0.5  # from this chance on an answer has to say what is wrong

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
        return " ".join(f"{_HEADINGS[name]}: {self.rationale[name]}" for name in RATIONALE)


@dataclass(frozen=True)
class Unreadable:
    """No answer, and why; `message` can be shown to the model that is to try again."""

    kind: Misread
    message: str


class _Bad(ValueError):
    """An object that JSON's grammar allows and an answer must not have."""

    def __init__(self, kind: Misread, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def read(text: str) -> Answer | Unreadable:
    """The judgement that an answer's text states."""
    if len(text) > MAX_CHARACTERS:
        return Unreadable(Misread.TOO_LONG, f"the answer has {len(text)} characters; a few hundred are enough")
    found = _object(text.rpartition("</think>")[2][-SCANNED_CHARACTERS:])  # drafts while thinking are no answers
    return found if isinstance(found, Unreadable) else read_object(found)


def read_object(data: Mapping[str, Any]) -> Answer | Unreadable:
    """The judgement that a parsed object states; keys beside those asked for are left aside."""
    if missing := [name for name in (*RATIONALE, "p_bad", "error") if name not in data]:
        return Unreadable(Misread.BAD_KEYS, f"the object lacks {', '.join(missing)}")
    for name in RATIONALE:
        if not isinstance(data[name], str) or not _line(data[name]):
            return Unreadable(Misread.BAD_KEYS, f"{name} must be a sentence or two")
    p_bad = data["p_bad"]
    if isinstance(p_bad, bool) or not isinstance(p_bad, int | float) or not 0.0 <= p_bad <= 1.0:
        return Unreadable(Misread.BAD_NUMBER, f"p_bad must be a plain number from 0 to 1, got {repr(p_bad)[:40]}")
    error = _error(data["error"])
    if isinstance(error, Unreadable):
        return error
    if error is None and p_bad >= NEEDS_ERROR:
        return Unreadable(Misread.BAD_ERROR, f"with p_bad at {p_bad:g}, error must name what is wrong")
    return Answer(float(p_bad), error, {name: _line(data[name]) for name in RATIONALE})


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
    line = defused(" ".join(whole.split()))
    return line if len(line) <= SENTENCE_CHARACTERS else f"{line[:SENTENCE_CHARACTERS]}…"


def _object(text: str) -> Mapping[str, Any] | Unreadable:
    """The one object with `p_bad` in a text."""
    found: list[dict[str, Any]] = []
    trouble: Unreadable | None = None
    start = text.find("{")
    while start >= 0:
        try:
            data, end = _decoder.raw_decode(text, start)
        except _Bad as error:
            trouble, end = Unreadable(error.kind, str(error)), start + 1
        except RecursionError:
            return Unreadable(Misread.BROKEN_JSON, "the JSON is nested far too deep")
        except ValueError:
            end = start + 1
        else:
            if "p_bad" in data and data not in found:
                found.append(data)
        start = text.find("{", end)
    if trouble is not None:
        return trouble
    if len(found) > 1:
        return Unreadable(Misread.TWO_ANSWERS, "there are several objects that say different things; give one")
    if found:
        return found[0]
    if '"p_bad"' in text:
        return Unreadable(Misread.BROKEN_JSON, "the object with p_bad is not whole and valid JSON")
    return Unreadable(Misread.NO_ANSWER, "there is no JSON object with p_bad and error")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _Bad(Misread.TWO_ANSWERS, "a key stands twice in one object")
    return data


def _no_constant(name: str) -> float:
    raise _Bad(Misread.BAD_NUMBER, f"{name} is not a number that JSON has")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
