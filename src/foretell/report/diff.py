"""Two sources line by line, aligned for reading side by side or one below the other."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

SAME, ADDED, REMOVED, BLANK = "same", "added", "removed", "blank"


@dataclass(frozen=True)
class Row:
    """One line of the side-by-side view; a side that has no line there is blank, without a number."""

    left_no: int | None
    left: str
    left_kind: str
    right_no: int | None
    right: str
    right_kind: str


@dataclass(frozen=True)
class UnifiedRow:
    """One line of the unified view."""

    left_no: int | None
    right_no: int | None
    sign: str
    text: str
    kind: str


@dataclass(frozen=True)
class Diff:
    """What changed from one source to another; `name` is what the right side is called."""

    name: str
    rows: tuple[Row, ...]
    unified: tuple[UnifiedRow, ...]
    added: int
    removed: int


def compare(left: str, right: str, name: str) -> Diff:
    """Align the two sources. Every line of both appears exactly once on its side."""
    a, b = left.splitlines(), right.splitlines()
    rows: list[Row] = []
    unified: list[UnifiedRow] = []
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            for i, j in zip(range(a0, a1), range(b0, b1), strict=True):
                rows.append(Row(i + 1, a[i], SAME, j + 1, b[j], SAME))
                unified.append(UnifiedRow(i + 1, j + 1, " ", a[i], SAME))
            continue
        for step in range(max(a1 - a0, b1 - b0)):
            i, j = a0 + step, b0 + step
            old = (i + 1, a[i], REMOVED) if i < a1 else (None, "", BLANK)
            new = (j + 1, b[j], ADDED) if j < b1 else (None, "", BLANK)
            rows.append(Row(*old, *new))
        unified += [UnifiedRow(i + 1, None, "−", a[i], REMOVED) for i in range(a0, a1)]
        unified += [UnifiedRow(None, j + 1, "+", b[j], ADDED) for j in range(b0, b1)]
    added = sum(row.right_kind == ADDED for row in rows)
    removed = sum(row.left_kind == REMOVED for row in rows)
    return Diff(name, tuple(rows), tuple(unified), added, removed)
