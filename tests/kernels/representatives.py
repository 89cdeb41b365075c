"""One task per family for `make test`, all of them for `make test-full`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from foretell.kernels.library import tasks


def representatives(names: Iterable[str], kind: str) -> set[str]:
    """The alphabetically first task of each family among `names`; `kind` is the library's, "cpu" or "gpu"."""
    first: dict[str, str] = {}
    for name in sorted(names):
        first.setdefault(tasks(kind)[name].family, name)
    return set(first.values())


def per_family(names: Iterable[str], kind: str = "cpu") -> list[object]:
    """Parameters for every name, of which all but one per family are marked `full`."""
    names = list(names)
    chosen = representatives(names, kind)
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.full, id=name) for name in names]
