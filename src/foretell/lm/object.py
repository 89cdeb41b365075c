"""The one JSON object that an answer holds, amid prose, code fences and a model's thinking. Pure, in linear time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foretell.received import BadJson, real, whole

SCANNED_CHARACTERS = 16_000  # where an object is looked for amid prose, counted from the end


class Flaw(StrEnum):
    """Why there is no one object. Closed."""

    NO_ANSWER = "no_answer"
    BROKEN_JSON = "broken_json"
    TWO_ANSWERS = "two_answers"  # two objects that say different things, or one key twice
    BAD_NUMBER = "bad_number"  # NaN or Infinity, which JSON does not have, or far too large


@dataclass(frozen=True)
class NoObject:
    """No object, and why; `message` can be shown to the model that is to try again."""

    flaw: Flaw
    message: str


class _Bad(ValueError):
    """An object that JSON's grammar allows and an answer must not have."""

    def __init__(self, flaw: Flaw, message: str) -> None:
        super().__init__(message)
        self.flaw = flaw


def find_object(text: str, key: str) -> dict[str, Any] | NoObject:
    """The one object with `key` in an answer: the whole of it, or amid prose. Drafts while thinking are no answers."""
    text = text.rpartition("</think>")[2]
    whole = text.strip()
    if whole.startswith("{") and whole.endswith("}"):
        try:
            data: dict[str, Any] = _decoder.decode(whole)
        except _Bad as error:
            return NoObject(error.flaw, str(error))
        except (ValueError, RecursionError):
            pass  # perhaps prose that only begins and ends like an object
        else:
            return data if key in data else _none(key)
    return _amid_prose(text[-SCANNED_CHARACTERS:], key)


def _amid_prose(text: str, key: str) -> dict[str, Any] | NoObject:
    found: list[dict[str, Any]] = []
    trouble: NoObject | None = None
    start = text.find("{")
    while start >= 0:
        try:
            data, end = _decoder.raw_decode(text, start)
        except _Bad as error:
            trouble, end = NoObject(error.flaw, str(error)), start + 1
        except RecursionError:
            return NoObject(Flaw.BROKEN_JSON, "the JSON is nested far too deep")
        except ValueError:
            end = start + 1
        else:
            if key in data and data not in found:
                found.append(data)
        start = text.find("{", end)
    if trouble is not None:
        return trouble
    if len(found) > 1:
        return NoObject(Flaw.TWO_ANSWERS, "there are several objects that say different things; give one")
    if found:
        return found[0]
    if f'"{key}"' in text:
        return NoObject(Flaw.BROKEN_JSON, f"the object with {key!r} is not whole and valid JSON")
    return _none(key)


def _none(key: str) -> NoObject:
    return NoObject(Flaw.NO_ANSWER, f"there is no JSON object with {key!r}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _Bad(Flaw.TWO_ANSWERS, "a key stands twice in one object")
    return data


def _no_constant(name: str) -> float:
    raise _Bad(Flaw.BAD_NUMBER, f"{name} is not a number that JSON has")


def _bounded(read: Callable[[str], float]) -> Callable[[str], float]:
    """A reader of numbers whose refusal is a flaw of the answer."""

    def read_number(digits: str) -> float:
        try:
            return read(digits)
        except BadJson as error:
            raise _Bad(Flaw.BAD_NUMBER, str(error)) from None

    return read_number


_decoder = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_bounded(whole), parse_float=_bounded(real), parse_constant=_no_constant
)
