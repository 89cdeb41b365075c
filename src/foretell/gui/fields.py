"""Fields of JSON objects that anybody may have written: each is what it must be, or TypeError is raised."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def number(value: Any) -> float:
    """The value, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} where a number belongs")
    return value


def share(value: Any) -> float:
    """The value, if it is a number from 0 to 1."""
    if not 0.0 <= number(value) <= 1.0:
        raise TypeError(f"{value!r} where a number from 0 to 1 belongs")
    return float(value)


def is_a(kind: type[T], value: Any) -> T:
    """The value, if it is of that type."""
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__} where a {kind.__name__} belongs")
    return value


def is_a_or_none(kind: type[T], value: Any) -> T | None:
    """The value, if it is of that type or None."""
    return None if value is None else is_a(kind, value)


def texts(values: Iterable[Any]) -> tuple[str, ...]:
    """The values, if all of them are texts."""
    return tuple(is_a(str, value) for value in is_a(list, values))
