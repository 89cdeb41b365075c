"""Fields of frozen dataclasses that are made when one of them is first read.

Most of what a journal holds of a candidate is never looked at by whoever opens it, and turning all of it into checked
values would take most of the time of loading. So an instance can be made of some of its fields and a function for the
others; it differs from one that was made whole only in that reading a field may raise what that function raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from foretell.kernels.typed import unchecked

T = TypeVar("T")
_MAKE = "make deferred fields"  # not a name that a field can have


def deferrable(*names: str) -> Callable[[type[T]], type[T]]:
    """Let these fields of a dataclass be left to a function (see `deferred`)."""

    def decorate(kind: type[T]) -> type[T]:
        for name in names:  # `__init__` knows the defaults of the fields by now
            setattr(kind, name, _Deferred(name))
        return kind

    return decorate


def deferred(kind: type[T], fields: dict[str, Any], make: Callable[[], Mapping[str, Any]]) -> T:
    """An instance with these fields, which belong to it from now on; `make` gives the others when one is first read.

    Fields that the instance has by then keep their values. `make` is called again if it raised. It may give the `vars`
    of another instance with deferred fields, which then wait further.
    """
    fields[_MAKE] = make
    return unchecked(kind, fields)


class _Deferred:
    """Stands in for a field while an instance has no value of its own for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, kind: type) -> Any:
        if instance is None:
            return self
        fields = vars(instance)
        while self._name not in fields:
            if _MAKE not in fields:
                raise AttributeError(f"{kind.__name__} has no value for {self._name!r}")
            made = dict(fields[_MAKE]())
            further = made.pop(_MAKE, None)
            for name, value in made.items():
                fields.setdefault(name, value)
            if further is None:
                fields.pop(_MAKE, None)  # another thread may have been faster
            else:
                fields[_MAKE] = further
        return fields[self._name]
