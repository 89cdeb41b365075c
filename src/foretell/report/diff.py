"""Two sources line by line, aligned for reading side by side or one below the other."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

SAME, ADDED, REMOVED, BLANK = "same", "added", "removed", "blank"
MOST_LINES, MOST_CHARACTERS = 4000, 1 << 20  # of a source that are shown
MOST_PAIRS = 1 << 15  # of equal lines that are compared; beyond them the commonest lines only follow others


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
    """What changed from one source to another; `name` is what the right side is called.

    `left_out` is how many lines of both are beyond what is shown, and neither compared nor counted.
    """

    name: str
    rows: tuple[Row, ...]
    unified: tuple[UnifiedRow, ...]
    added: int
    removed: int
    left_out: int = 0


def compare(left: str, right: str, name: str) -> Diff:
    """Align the two sources. Every line that is not left out appears exactly once on its side."""
    a, b = _shown(left), _shown(right)
    left_out = len(left.splitlines()) - len(a) + len(right.splitlines()) - len(b)
    rows: list[Row] = []
    unified: list[UnifiedRow] = []
    for kind, a0, a1, b0, b1 in _opcodes(a, b):
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
    return Diff(name, tuple(rows), tuple(unified), added, removed, left_out)


def _shown(source: str) -> list[str]:
    return source[:MOST_CHARACTERS].splitlines()[:MOST_LINES]


def _opcodes(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """As difflib's, whose work grows with the pairs of equal lines between where the two begin and end to differ."""
    least = min(len(a), len(b))
    head = next((i for i in range(least) if a[i] != b[i]), least)
    tail = next((i for i in range(least - head) if a[-1 - i] != b[-1 - i]), least - head)
    ends = len(a) - tail, len(b) - tail
    some, others = a[head : ends[0]], b[head : ends[1]]
    common = _commonest(some, others)
    between = difflib.SequenceMatcher(common.__contains__, some, others, autojunk=False).get_opcodes()
    moved = [(kind, head + a0, head + a1, head + b0, head + b1) for kind, a0, a1, b0, b1 in between]
    whole = [("equal", 0, head, 0, head), *moved, ("equal", ends[0], len(a), ends[1], len(b))]
    return [code for code in whole if code[1] < code[2] or code[3] < code[4]]


def _commonest(a: Sequence[str], b: Sequence[str]) -> frozenset[str]:
    """Lines without which there are no more than MOST_PAIRS of equal lines: as a rule blank ones and brackets."""
    left, right = Counter(a), Counter(b)
    pairs = sorted((count * right[line], line) for line, count in left.items())
    room = MOST_PAIRS
    for place, (count, _) in enumerate(pairs):
        room -= count
        if room < 0:
            return frozenset(line for _, line in pairs[place:])
    return frozenset()
