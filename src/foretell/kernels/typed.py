"""Values read back from a file, checked against the annotations of their dataclass.

A checksum proves that a line is what was written, not that whoever wrote it was in its right mind: a file from another
version, or edited by hand, has valid checksums too. Whatever is read is checked once, where it enters.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, Union

T = TypeVar("T")
_Check = Callable[[Any], bool]
_TEXT, _REAL = frozenset({str}), frozenset({float})
_MOST = 2**63  # no count and no size here is larger


def typed(value: T) -> T:
    """The dataclass instance itself; ValueError where a field is not what its annotation says.

    Numbers must be finite; an integer will do for a real number, a truth value for neither. Fields that are
    dataclasses themselves are checked for their type only: whoever made them has checked what is in them.
    """
    kind: type = type(value)
    values = _reader(kind)(value)
    for index, check in _checks_left(kind, tuple(map(type, values))):
        if not check(values[index]):
            name, hint = _hints(kind)[index]
            raise ValueError(f"{name} is {_short(values[index])}, expected {_words(hint)}")
    return value


def unchecked(kind: type[T], fields: dict[str, Any]) -> T:
    """A dataclass instance with these fields, all of them and in their order, which belong to it from now on.

    Takes a fraction of the time of a frozen dataclass's own `__init__`: a journal has hundreds of thousands of these.
    """
    value = object.__new__(kind)
    object.__setattr__(value, "__dict__", fields)
    return value


def finite(value: object) -> bool:
    """Whether this is a number, and a finite one."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST


def all_text(values: Iterable[Any]) -> bool:
    """Whether all are of type `str`."""
    return _TEXT.issuperset(map(type, values))


def all_finite(values: Collection[Any]) -> bool:
    """Whether all are finite numbers; a sum of floats tells at once, unless it overflows."""
    if _REAL.issuperset(map(type, values)) and math.isfinite(sum(values)):
        return True
    return all(map(finite, values))


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < _MOST else "a huge integer"
    return text if len(text) <= 60 else text[:57] + "..."


@cache
def _hints(kind: type) -> list[tuple[str, Any]]:
    """The name and annotation of each field."""
    hints = typing.get_type_hints(kind)
    return [(field.name, hints[field.name]) for field in dataclasses.fields(kind)]


@cache
def _reader(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """Reads all fields of an instance at once."""
    names = [name for name, _ in _hints(kind)]
    return operator.attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)


@lru_cache(maxsize=4096)
def _checks_left(kind: type, types_: tuple[type, ...]) -> list[tuple[int, _Check]]:
    """What is left to check of an instance whose fields have these types: most need no further look.

    A journal has hundreds of thousands of instances, and few combinations of types.
    """
    left: list[tuple[int, _Check]] = []
    for index, ((_, hint), actual) in enumerate(zip(_hints(kind), types_, strict=True)):
        options = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
        if actual is float and float in options:
            left.append((index, math.isfinite))
        elif actual is float or actual not in options or not (_is_plain(actual) or actual is type(None)):
            left.append((index, _check(hint)))
    return left


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
            return lambda value: isinstance(value, Mapping) and all_text(value)
        if arguments == (str, float):
            return lambda value: isinstance(value, Mapping) and all_text(value) and all_finite(value.values())
        return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(member, value.values()))
    if hint is float:
        return finite
    if hint is int:
        return lambda value: isinstance(value, int) and finite(value)
    if hint in (str, bool, type(None), Path) or issubclass(hint, Enum) or dataclasses.is_dataclass(hint):
        return lambda value: isinstance(value, hint)
    raise TypeError(f"no check for the annotation {hint!r}")
