"""Values read back from a file, checked against the annotations of their dataclass.

A checksum proves that a line is what was written, not that whoever wrote it was in its right mind: a file from another
version, or edited by hand, has valid checksums too. Whatever is read is checked once, where it enters.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union

T = TypeVar("T")
_Check = Callable[[Any], bool]
_MOST = 2**63  # no count and no size here is larger


def typed(value: T) -> T:
    """The dataclass instance itself; ValueError where a field is not what its annotation says.

    Numbers must be finite; an integer will do for a real number, a truth value for neither. Fields that are
    dataclasses themselves are checked for their type only: whoever made them has checked what is in them.
    """
    kind: type = type(value)
    for name, words, exact, check in _checks(kind):
        found: Any = getattr(value, name)
        is_exact = type(found) is exact
        if is_exact and (exact is not float or found - found == 0.0):  # the difference of nan or infinities is nan
            continue
        if not check(found):
            raise ValueError(f"{name} is {_short(found)}, expected {words}")
    return value


def finite(value: object) -> bool:
    """Whether this is a number, and a finite one."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < _MOST else "a huge integer"
    return text if len(text) <= 60 else text[:57] + "..."


@cache
def _checks(kind: type) -> list[tuple[str, str, type | None, _Check]]:
    """For each field its name, the words for what it holds, a type that needs no further look, and the check."""
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    return [
        (name, _words(hints[name]), hints[name] if _is_plain(hints[name]) else None, _check(hints[name]))
        for name in names
    ]


def _is_plain(hint: Any) -> bool:
    return isinstance(hint, type) and (
        hint in (str, bool, float) or issubclass(hint, Enum) or dataclasses.is_dataclass(hint)
    )


def _words(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _check(hint: Any) -> _Check:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, types.UnionType):
        options = [_check(argument) for argument in arguments]
        return lambda value: any(option(value) for option in options)
    if origin is tuple:
        member = _check(arguments[0])
        if _is_plain(arguments[0]) and arguments[0] is not float:
            plain = {arguments[0]}
            return lambda value: isinstance(value, tuple) and plain.issuperset(map(type, value))
        return lambda value: isinstance(value, tuple) and all(map(member, value))
    if origin is not None and issubclass(origin, Mapping):
        key, member = map(_check, arguments)
        if arguments == (str, Any):
            return lambda value: isinstance(value, Mapping) and {str}.issuperset(map(type, value))
        return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(member, value.values()))
    if hint is float:
        return finite
    if hint is int:
        return lambda value: isinstance(value, int) and finite(value)
    if hint in (str, bool, type(None), Path) or issubclass(hint, Enum) or dataclasses.is_dataclass(hint):
        return lambda value: isinstance(value, hint)
    raise TypeError(f"no check for the annotation {hint!r}")
