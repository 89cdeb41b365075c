"""Rows of a corpus table, checked where they are read: a table may come from anywhere.

`verify` proves that a corpus is what it says; this only makes sure that every value is of the kind its column is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.kernels.candidate import LANGUAGES
from foretell.kernels.corpus.combined import PARTS, are_parts
from foretell.kernels.measurement import Status
from foretell.kernels.store.errors import StoreError
from foretell.kernels.typed import finite
from foretell.received import parsed

KINDS = frozenset({"cpu", "gpu"})
_STATUSES = frozenset(status.value for status in Status)
MOST_SECONDS = 1e9  # thirty years
MOST_SOURCE_CHARACTERS = 1 << 20  # as many as a candidate's file may have
_SHOWN = 60
_QUANTILES = 5  # of the log2 ratio over the pairs of a workload


class NotWritten(StoreError):
    """A table of the corpus that could not be read again as it would be; the former one is as it was."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} was not written, since it could not be read again: {what}")


class CorpusDamaged(StoreError):
    """A table of the corpus that cannot be worked with; nothing was changed."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{what} in {path}: mend or remove it, or import what was measured again (foretell data import)"
        )


def checked(path: Path, rows: Sequence[dict[str, Any]], needed: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The rows themselves; CorpusDamaged naming the first row and column that make no sense.

    Columns in `needed` must be there and have a value in every row; others may be empty or missing.
    """
    what = odd(rows, needed)
    if what is not None:
        raise CorpusDamaged(path, what)
    return list(rows)


def odd(rows: Sequence[dict[str, Any]], needed: Iterable[str] = ()) -> str | None:
    """What is wrong with the first row that makes no sense, naming its number and column; None if all make sense."""
    names = set(rows[0]) if rows else set()
    wanted = set(needed)
    if rows and not wanted <= names:
        return f"the columns {', '.join(sorted(wanted - names))} are missing"
    checks = [(name, name not in wanted or name in _MAY_BE_EMPTY, *_CHECKS[name]) for name in _CHECKS if name in names]
    figures = [name for name in ("speedup", "low", "high") if name in (wanted or {"speedup"}) & names]
    for number, row in enumerate(rows, start=1):
        for name, empty, expected, check in checks:
            value = row[name]
            if not (empty if value is None else check(value)):
                return f"row {number} has the {name} {_short(value)}, expected {expected},"
        if row.get("status") == Status.OK and any(row[name] is None for name in figures):
            return f"row {number} is ok without {' or '.join(figures)}"
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_source(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_SOURCE_CHARACTERS


def _is_positive(value: object) -> bool:
    return finite(value) and value > 0  # type: ignore[operator]


def _is_duration(value: object) -> bool:
    return finite(value) and 0 <= value <= MOST_SECONDS  # type: ignore[operator]


def _is_object(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        found = parsed(value or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("knobs", {}), dict)


def _is_conditions(value: object) -> bool:
    return _is_object(value) and are_parts(parsed(value or "{}").get(PARTS, []))  # type: ignore[arg-type]


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_features(value: object) -> bool:
    if not isinstance(value, list) or not all(type(one) is tuple for one in value):
        return False
    # Two million of these in a large corpus: a difference that is zero is quicker than asking whether it is finite.
    return all(type(name) is str and (x is None or (type(x) is float and x - x == 0.0)) for name, x in value)


def _is_workloads(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) and _is_workload(one) for one in value)


def _is_workload(one: Mapping[str, Any]) -> bool:
    times = ("reference_us", "candidate_us", "speedup", "low", "high")
    ratios = one.get("log2_ratio", [0.0] * _QUANTILES)
    return (
        isinstance(one.get("name"), str)
        and all(_is_positive(one.get(name)) for name in times)
        and isinstance(ratios, list)
        and len(ratios) == _QUANTILES
        and all(type(ratio) is float and ratio - ratio == 0.0 for ratio in ratios)
    )


_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        ("id", "key", "task", "family", "origin", "device", "toolchain", "message", "method",
         "licence", "split", "spec"),
        ("text", _is_text),
    ),
    **dict.fromkeys(("source", "stripped"), (f"text of at most {MOST_SOURCE_CHARACTERS} characters", _is_source)),
    **dict.fromkeys(("speedup", "low", "high"), ("a positive number", _is_positive)),
    **dict.fromkeys(("build_s", "device_s", "wall_s"), (f"seconds, {MOST_SECONDS:.0e} at most", _is_duration)),
    "measured_at": ("a number", finite),
    "stopped_early": ("true or false", lambda value: isinstance(value, bool)),
    "status": ("one of " + ", ".join(sorted(_STATUSES)), lambda value: _is_text(value) and value in _STATUSES),
    "kind": ("cpu or gpu", lambda value: _is_text(value) and value in KINDS),
    "language": ("one of " + ", ".join(sorted(LANGUAGES)), lambda value: _is_text(value) and value in LANGUAGES),
    "detail": ("a JSON object", _is_object),
    "conditions": ("a JSON object, with the parts of a combined row if it is one", _is_conditions),
    "parents": ("a list of text", _is_texts),
    "features": ("numbers by name", _is_features),
    "workloads": ("workloads with positive times", _is_workloads),
}  # fmt: skip
_MAY_BE_EMPTY = frozenset({"speedup", "low", "high", "parents", "features", "workloads"})
