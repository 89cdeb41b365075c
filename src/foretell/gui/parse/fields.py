"""A call's arguments, read with their types checked. Every failure names the field and never shows a text's value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foretell.gui.actions import Point
from foretell.gui.parse.faults import BadProposal, Reason

_MOST_CHARACTERS = 120  # of a point written as a text
_NUMBER = r"-?\d{1,9}(?:\.\d{1,20})?"
_PLACE = re.compile(rf"[(\[]?\s*({_NUMBER}(?:\s*[,\s]\s*{_NUMBER})+)\s*[)\]]?")
_TAGS = re.compile(r"</?(?:point|bbox|box)>|<\|box_(?:start|end)\|>")


@dataclass(frozen=True)
class Fields:
    """The arguments of the call `of`. Names are tried in the order given; a null counts as absent.

    A number may be written as a text; an empty one counts as absent.
    """

    of: str
    data: Mapping[str, Any]

    def has(self, *names: str) -> bool:
        return any(self.data.get(name) is not None for name in names)

    def _first(self, names: Sequence[str]) -> tuple[str, Any]:
        return next(((name, self.data[name]) for name in names if self.data.get(name) is not None), (names[0], None))

    def _wrong(self, name: str, value: object, expected: str) -> BadProposal:
        return BadProposal(Reason.WRONG_TYPE, f"{self.of}: {name} is {_kind_of(value)}", expected)

    def missing(self, what: str) -> BadProposal:
        return BadProposal(Reason.MISSING, f"{self.of} has no {what}", f"{self.of} with {what}")

    def number(self, *names: str) -> float | None:
        given = [name for name in names if self.data.get(name) != ""]
        name, value = self._first(given or names)
        return None if value in (None, "") else self._as_number(name, value)

    def text(self, *names: str) -> str | None:
        name, value = self._first(names)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(name, value, "a text")

    def need_text(self, *names: str) -> str:
        found = self.text(*names)
        if not found:
            raise self.missing(names[0])
        return found

    def words(self, *names: str) -> tuple[str, ...]:
        """One text or a list of texts."""
        name, value = self._first(names)
        if value is None:
            return ()
        listed = list(value) if isinstance(value, list | tuple) else [value]
        if not all(isinstance(word, str) for word in listed):
            raise self._wrong(name, value, "a text or a list of texts")
        return tuple(listed)

    def place(self, *names: str) -> Point | None:
        """A point as [x, y], {"x", "y"}, "(x,y)" or "<point>x y</point>"; the centre of a box of four numbers."""
        name, value = self._first(names)
        if value is None:
            return None
        if isinstance(value, Mapping):
            return Point(self._as_number(f"{name}.x", value.get("x")), self._as_number(f"{name}.y", value.get("y")))
        if isinstance(value, str):
            found = _PLACE.fullmatch(_TAGS.sub("", value[:_MOST_CHARACTERS]).strip())
            value = [float(part) for part in re.findall(_NUMBER, found[1])] if found else value
        if not isinstance(value, list | tuple) or len(value) not in (2, 4):
            raise self._wrong(name, value, "two coordinates, as [x, y]")
        numbers = [self._as_number(name, part) for part in value]
        if len(numbers) == 4:
            return Point((numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2)
        return Point(numbers[0], numbers[1])

    def xy(self, x: str, y: str) -> Point | None:
        """A point from two fields; one without the other is a fault."""
        if not self.has(x, y):
            return None
        if not (self.has(x) and self.has(y)):
            raise self.missing(y if self.has(x) else x)
        return Point(self._as_number(x, self.data[x]), self._as_number(y, self.data[y]))

    def _as_number(self, name: str, value: object) -> float:
        if isinstance(value, str) and re.fullmatch(_NUMBER, value.strip()):
            return float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(name, value, "a number")
        if abs(value) > 1e9 or not math.isfinite(value):
            raise BadProposal(Reason.WRONG_TYPE, f"{self.of}: {name} is no finite number of a sensible size")
        return float(value)


def _kind_of(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    names = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "an object")
