"""Which lines of a dense page to read: those around the point, and those as long as a name that is looked for.

Recognising text is what a critique spends its time on, and its cost grows with the width of the lines. A page of little
text is read as a whole. Of a dense one the lines near the points are read first, then those whose proportions fit the
names in the intent and the goal, then what lies nearest, until the budget is spent. Budgets are in pixels of the
recogniser's input instead of seconds, so that a verdict does not depend on the load of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foretell.gui.actions import POINTED, Point
from foretell.gui.elements import distance
from foretell.gui.history import History, last_click
from foretell.gui.observation import Proposal
from foretell.gui.ocr import strip_width
from foretell.gui.target import target_of
from foretell.gui.wording import is_unspaced, wording
from foretell.gui.words import Box

WHOLE_PX = 2600  # a page with less text is read as a whole
NEAR_PX, NAMED_PX, MOST_PX = 550, 450, 1000  # of a dense page: around the points, by proportions, in all
ROW_PX = 700  # on top where a row is named: for its own row, for labels of the same size, and for such names
_AROUND_PX = 90.0  # pixels of the screen from a point to a line that may be a label of what is there
_ROW_PX, _LABEL_PX = 14, 6  # pixels of the screen: the half of a row, and around a label
_ROW_SHARE = 0.12  # what a pixel along the row of a point counts, compared with others
_LONG = 16.0  # times its height: a longer line is read around the point only
_LATIN_WIDTH, _WIDE_WIDTH = (0.42, 0.95), (0.75, 1.35)  # of a letter, in heights of the line's ink
_MOST_NAMES = 8


@dataclass(frozen=True)
class Interest:
    """What a proposal makes worth reading: places on the screen, and names that may stand on it.

    For `rows`, names of rows, more is read on top: the rows of the points, such names, and lines as long as the labels
    pointed at, which may be the same labels in other rows.
    """

    points: tuple[Point, ...] = ()
    names: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


def interest(proposal: Proposal, history: History, goal: str) -> Interest:
    """What to read for a proposal: around its points (or the last click, to which typing goes), and names it gives."""
    points = [p for action in proposal.actions for p in (action.point, action.to) if p is not None]
    if not all(action.kind in POINTED for action in proposal.actions) and (clicked := last_click(history)) is not None:
        points.append(clicked)
    names = list(target_of(proposal.intent).names) if proposal.intent else []
    names += wording(proposal.intent).quoted if proposal.intent else ()
    names += wording(goal).quoted
    usable = [p for p in points if math.isfinite(p.x) and math.isfinite(p.y)]
    return Interest(tuple(dict.fromkeys(usable)), tuple(dict.fromkeys(names))[:_MOST_NAMES])


def lines_to_read(lines: Sequence[Box], about: Interest | None) -> list[Box]:
    """The lines, or parts of them, that are worth reading; all of them where the page has little text."""
    if about is None or sum(map(strip_width, lines)) <= WHOLE_PX:
        return list(lines)
    near = sorted(((_away(line, about.points), line) for line in lines), key=lambda pair: pair[0])
    chosen: dict[Box, Box] = {}
    spent = 0
    for away, line in near:
        part = _around(line, about.points)
        if away <= _AROUND_PX and spent + strip_width(part) <= NEAR_PX:
            chosen[line], spent = part, spent + strip_width(part)
    fitting = sorted(
        ((fit, away, line) for away, line in near if line not in chosen and (fit := _misfit(line, about.names)) < 1.0),
        key=lambda triple: triple[:2],
    )
    for line in _within([line for _, _, line in fitting], spent + NAMED_PX, spent):
        chosen[line], spent = line, spent + strip_width(line)
    for line in _within([line for _, line in near if line not in chosen], MOST_PX, spent):
        chosen[line], spent = line, spent + strip_width(line)
    if about.rows:
        chosen |= {line: line for line in _of_rows([line for _, line in near if line not in chosen], near, about)}
    return list(chosen.values())


def _of_rows(left: Sequence[Box], near: Sequence[tuple[float, Box]], about: Interest) -> list[Box]:
    """Of the lines that are left, those that tell rows apart; what repeats a line of the point's row names no other."""
    row = [line for _, line in near if any(abs(line[1] + line[3] / 2 - p.y) <= _ROW_PX for p in about.points)]
    labels = [line for line in row if any(distance(line, p.x, p.y) <= _LABEL_PX for p in about.points)]
    named = sorted(
        (any(_as_large(line, other) for other in row), fit, at)
        for at, line in enumerate(left)
        if (fit := _misfit(line, about.rows)) < 1.0
    )
    found: list[Box] = []
    for lines in (
        [line for line in row if line in left],
        [line for line in left if any(_as_large(line, label) for label in labels)],
        [left[at] for _, _, at in named],
    ):
        found += _within([line for line in lines if line not in found], ROW_PX, 0)
    return found


def _as_large(one: Box, other: Box) -> bool:
    return abs(one[2] - other[2]) <= 2 and abs(one[3] - other[3]) <= 2


def _within(lines: Iterable[Box], most: int, spent: int) -> Iterable[Box]:
    """The lines, one after the other, that a budget still allows; what is too long is passed over."""
    for line in lines:
        if spent + strip_width(line) <= most:
            spent += strip_width(line)
            yield line


def _away(line: Box, points: Sequence[Point]) -> float:
    """How far a line is from the nearest point; along a point's row it is nearer than it looks."""
    x, y, w, h = line
    ways = []
    for point in points:
        in_row = y - 0.5 * h <= point.y <= y + 1.5 * h
        aside = max(x - point.x, point.x - x - w, 0.0)
        ways.append(_ROW_SHARE * aside if in_row else max(0.0, distance(line, point.x, point.y)))
    return min(ways, default=math.inf)


def _around(line: Box, points: Sequence[Point]) -> Box:
    """A line, cut around the point that it holds where it is long."""
    x, y, w, h = line
    if w <= _LONG * h:
        return line
    at = min((point.x for point in points), key=lambda one: max(x - one, one - x - w, 0.0), default=float(x))
    wide = int(_LONG * h)
    left = int(min(max(at - wide / 2, x), x + w - wide))
    return left, y, wide, h


def _misfit(line: Box, names: Iterable[str]) -> float:
    """How far a line's proportions are from those of the likeliest name, 0 to 1; 1 where it can be none of them."""
    shape = line[2] / max(1, line[3])
    best = 1.0
    for name in names:
        low, high = (sum(width[i] for width in map(_letter, name)) for i in (0, 1))
        if low <= shape <= high:
            middle = (low + high) / 2
            best = min(best, 0.99 * abs(shape - middle) / max(1e-9, high - middle))
    return best


def _letter(letter: str) -> tuple[float, float]:
    return _WIDE_WIDTH if is_unspaced(letter) else _LATIN_WIDTH
