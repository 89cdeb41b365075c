"""Several measurements of one candidate as one row of the corpus, pooled by precision as in the catalogue.

A combined row lists in `conditions["parts"]` what went into it, so that a measurement that is imported again (from
another copy of the catalogue, or from its run) counts once, and a new one is pooled with all the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from foretell.kernels.measurement import Status
from foretell.kernels.store.combine import majority, pool
from foretell.kernels.typed import finite
from foretell.received import parsed

PARTS = "parts"
_MOST = float(np.finfo(np.float32).max)
_STATUSES = frozenset(status.value for status in Status)


class Part(NamedTuple):
    """One measurement of a combined row; numbers are rounded to the table's precision."""

    measured_at: float
    status: str
    speedup: float | None
    low: float | None
    high: float | None
    device_s: float


def combined(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row for several of the same candidate on the same device; at least one.

    Speedup and interval are pooled over all measurements; everything else is that of the latest row with the resulting
    status. Rows of one and the same measurement amount to the first of them.
    """
    if len(rows) == 1:
        return rows[0]
    parts = _distinct(part for row in rows for part in parts_of(row))
    if len(parts) == 1:
        return rows[0]
    status = majority([Status(part.status) for part in parts])
    same = [row for row in rows if row["status"] == status] or [row for row in rows if row["status"] != Status.OK]
    latest = max(same, key=lambda row: row["measured_at"])
    conditions = {**_conditions(latest), "combined": len(parts), PARTS: parts}
    figures: dict[str, Any] = {}
    triples = [(p.speedup, p.low, p.high) for p in parts if p.speedup and p.low and p.high]
    if status is Status.OK and triples:
        pooled = pool(triples)
        figures = {"speedup": pooled.speedup, "low": pooled.low, "high": pooled.high}
        figures["stopped_early"] = all(row["stopped_early"] for row in same)
    measured_at = max(part.measured_at for part in parts)
    return {**latest, **figures, "measured_at": measured_at, "conditions": json.dumps(conditions, sort_keys=True)}


def parts_of(row: Mapping[str, Any]) -> list[Part]:
    """The measurements that went into a row: those it lists, or itself."""
    listed = _conditions(row).get(PARTS)
    if listed:
        return [Part(*part) for part in listed]
    speedup, low, high, device_s = [_rounded(row[name]) for name in ("speedup", "low", "high", "device_s")]
    return [Part(row["measured_at"], row["status"], speedup, low, high, device_s or 0.0)]


def are_parts(value: object) -> bool:
    """Whether this JSON value lists parts as `combined` writes them."""
    return isinstance(value, list) and all(map(_is_part, value))


def _is_part(value: object) -> bool:
    if not isinstance(value, list) or len(value) != len(Part._fields):
        return False
    part = Part(*value)
    figures = (part.speedup, part.low, part.high)
    if not (finite(part.measured_at) and finite(part.device_s) and part.status in _STATUSES):
        return False
    if part.status == Status.OK:
        return all(finite(figure) and figure > 0 for figure in figures)  # type: ignore[operator]
    return figures == (None, None, None)


def _distinct(parts: Iterable[Part]) -> list[Part]:
    """Parts without repetitions, oldest first. Another moment alone does not make another measurement."""
    found: dict[tuple[Any, ...], Part] = {}
    for part in sorted(parts, key=lambda part: part.measured_at):
        found.setdefault(part[1:], part)
    return list(found.values())


def _conditions(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = parsed(row["conditions"] or "{}")
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(np.float32(min(value, _MOST)))
