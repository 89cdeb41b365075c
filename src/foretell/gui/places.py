"""The places of a screen that an agent could mean: each with its kind of control, its text, label and colour.

The instruction itself is often drawn on the page. Lines that together repeat the goal are set apart, so that its words
are not taken for things one could click.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

import numpy as np

from foretell.gui.elements import Element, Screen, distance
from foretell.gui.observation import Pixels
from foretell.gui.wording import alike, folded, tokens
from foretell.gui.words import Box, Word

PlaceKind = Literal["button", "checkbox", "radio", "field", "link", "text", "icon", "shape", "panel"]

_MANY_WORDS = 5  # of a goal, for text that repeats it to be no button
_REPEATS = 0.72  # share of the goal that lines have to repeat to be the instruction
_REPEATS_WHOLLY = 0.9  # where the goal has few words
_PANEL_SHARE = 0.12  # of the picture: a larger box is a panel, not a control
_BLANK = 80  # pixels of nothing after a label that may be a field
_CLOSE = 0.2  # of their height: letters that stand closer belong to one word
_ALIGNED, _ENTRIES = 3, 4  # pixels that entries of a list may be apart at the left; the fewest that make one
_ROWS_AT_ONCE = 256  # that are compared with all boxes
_TALL = 140  # pixels: a taller box is no button
_LATIN = 0x250  # letters below this are Latin ones
_FOREIGN_LINES = 3  # lines in other letters that make a page one of that script
_BESIDE, _FAR_ASIDE = 40, 0.15  # pixels to a label at the left; what each one beyond them counts, with nothing between


@dataclass(frozen=True)
class Place:
    """Something an agent could act on. `text` stands in it, `label` beside it; `marked` is a tick or a bright fill."""

    kind: PlaceKind
    box: Box
    text: str = ""
    label: str = ""
    colour: tuple[int, int, int] = (255, 255, 255)
    round: float = 0.0
    marked: bool = False

    @property
    def name(self) -> str:
        """What it is called on the screen: its text, else its label."""
        return self.text or self.label

    @property
    def centre(self) -> tuple[float, float]:
        x, y, w, h = self.box
        return x + w / 2, y + h / 2

    @property
    def area(self) -> int:
        return self.box[2] * self.box[3]

    def away(self, x: float, y: float) -> float:
        """Pixels to its box; negative inside."""
        return distance(self.box, x, y)


@dataclass(frozen=True)
class Places:
    """All places of one screen, without those of the instruction. `instruction` is where the goal is repeated."""

    all: tuple[Place, ...]
    words: tuple[Word, ...]
    instruction: Box | None

    def under(self, x: float, y: float) -> Place | None:
        """The smallest place that holds the point; a control before the text in it, but not a bar before its parts."""
        held = sorted((place for place in self.all if place.away(x, y) <= 0), key=lambda p: p.area)
        controls = [p for p in held if p.kind not in ("text", "panel")]
        if not held:
            return None
        return controls[0] if controls and (controls[0] is held[0] or not self._is_bar(controls[0])) else held[0]

    def _is_bar(self, place: Place) -> bool:
        """Whether a box holds several things, with more room between them than words and lines have: a bar, a menu."""
        parts = sorted(p.box for p in self.all if p is not place and p.area < place.area and _inside(p.box, place.box))
        beside = [right[0] - left[0] - left[2] for left, right in pairwise(parts)]
        below = [low[1] - top[1] - top[3] for top, low in pairwise(sorted(parts, key=lambda box: box[1]))]
        tall = max((part[3] for part in parts), default=0)
        return any(gap > 1.2 * tall for gap in beside) or any(gap > 0.8 * tall for gap in below)

    def nearest(self, x: float, y: float) -> Place | None:
        """The place that the point is closest to, panels left aside."""
        return min((p for p in self.all if p.kind != "panel"), key=lambda p: p.away(x, y), default=None)


def places(image: Pixels, screen: Screen, words: list[Word], goal: str, unread: frozenset[Box] = frozenset()) -> Places:
    """What one could act on, from the elements of a screen and the words read on it.

    `unread` are lines that nobody tried to read: they are texts that say nothing.
    """
    words = joined(words)
    told = instruction(words, goal)
    band = _band([words[i].box for i in told], screen)
    foreign = sum(_is_foreign(word.text) and len(word.text) > 1 for word in words) >= _FOREIGN_LINES
    strange = {word.box for word in words if _strange(word.text, goal, foreign)}
    page_words = [word for i, word in enumerate(words) if i not in told and word.box not in strange]
    read = [word.box for word in words if word.box not in strange]
    found: list[Place] = []
    for element in screen.elements:
        if band is not None and _inside(element.box, band):
            continue
        found.append(_control(element, page_words, screen))
    left_out = set(unread)
    found.extend(Place("text", line) for line in screen.lines if line in left_out)
    for line in screen.lines:
        if (
            line in left_out
            or line in read
            or any(_inside(line, box) for box in read)
            or (band is not None and _inside(line, band))
        ):
            continue
        found.extend(_icon(image, piece, found) for piece in _apart(line, screen))
    for word in page_words:
        host = next((p for p in found if p.kind in ("button", "field") and _inside(word.box, p.box)), None)
        if host is None or host.kind == "field" or word.text != host.text:
            found.append(Place(_text_kind(image, word.box), word.box, word.text, colour=_ink(image, word.box)))
    found.extend(_blanks(page_words, screen))
    found = as_rows(found)
    found = [_labelled(place, page_words) for place in found]
    return Places(tuple(found), tuple(page_words), band)


def as_rows(found: list[Place]) -> list[Place]:
    """Entries of a list reach as far as the widest of them: texts below one another that begin at the same column."""
    texts = sorted((p for p in found if p.kind in ("text", "link")), key=lambda p: p.box[1])
    nexts = dict(zip(map(id, texts), _nexts([p.box for p in texts], [p.box for p in found]), strict=True))
    columns = np.array([p.box[0] for p in texts])
    wide: dict[int, int] = {}
    for first in texts:
        rows = [first]
        for p in (texts[i] for i in np.flatnonzero(np.abs(columns - first.box[0]) <= _ALIGNED)):
            gap = p.box[1] - rows[-1].box[1] - rows[-1].box[3]
            if 0 <= gap <= 1.5 * first.box[3]:
                rows.append(p)
        if len(rows) >= _ENTRIES:
            end = max(row.box[0] + row.box[2] for row in rows)
            fresh = [row for row in rows if id(row) not in wide]
            wide |= {id(row): end - row.box[0] for row in fresh if nexts[id(row)] >= end}
    return [replace(p, box=(*p.box[:2], wide.get(id(p), p.box[2]), p.box[3])) for p in found]


def _nexts(rows: list[Box], boxes: list[Box]) -> list[float]:
    """For each row, the column where the first of some boxes begins beside it, after its end; inf where none does."""
    left, top, _, tall = np.array(boxes, dtype=np.int64).reshape(len(boxes), 4).T
    found: list[float] = []
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        x, y, w, h = np.array(some, dtype=np.int64).reshape(len(some), 4, 1).transpose(1, 0, 2)
        beside = (x + w <= left) & (top < y + h) & (y < top + tall)
        found += np.where(beside, left, np.inf).min(axis=1, initial=np.inf).tolist()
    return found


def _blanks(words: list[Word], screen: Screen) -> list[Place]:
    """Fields that have no border: the empty rest of a row after a label that ends in a colon."""
    found = []
    for word in words:
        x, y, w, h = word.box
        start = x + w + 4
        if not word.text.endswith(":") or start >= screen.width:
            continue
        ink = np.flatnonzero(screen.ink[y : y + h, start:].any(axis=0))
        wide = int(ink[0]) if ink.size else screen.width - start
        if wide >= _BLANK:
            around = 3 * h // 5
            box = (start, max(0, y - around), wide, h + 2 * around)
            found.append(Place("field", box, label=word.text))
    return found


def instruction(words: list[Word], goal: str) -> set[int]:
    """The numbers of the lines at the top that together repeat the goal; none where it is not drawn on the screen.

    A goal of few words may well be what stands on a button: it has to be repeated to the letter, or nearly so.
    """
    asked = tokens(goal)
    want = "".join(asked)
    best: tuple[float, set[int]] = (0.0, set())
    have, used = "", set[int]()
    for i in _reading_order(words)[:40]:
        piece = "".join(tokens(words[i].text))
        if not piece or len(have) + len(piece) > 1.25 * len(want) + 4:
            break
        have, used = have + piece, used | {i}
        score = SequenceMatcher(None, have, want, autojunk=False).ratio()
        if score > best[0] + 1e-9:
            best = (score, set(used))
    least = _REPEATS if len(asked) >= _MANY_WORDS else _REPEATS_WHOLLY
    return best[1] if best[0] >= least and len(want) >= 6 else set()


def _reading_order(words: list[Word]) -> list[int]:
    """The numbers of the words row by row, each from left to right; a row is what overlaps its first word's middle."""
    rows: list[list[int]] = []
    for i in sorted(range(len(words)), key=lambda i: words[i].box[1] + words[i].box[3] // 2):
        y, h = words[i].box[1], words[i].box[3]
        first = words[rows[-1][0]].box if rows else None
        if first is not None and y <= first[1] + first[3] // 2 < y + h:
            rows[-1].append(i)
        else:
            rows.append([i])
    return [i for row in rows for i in sorted(row, key=lambda i: words[i].box[0])]


def joined(words: list[Word]) -> list[Word]:
    """Pieces of one word that were read apart, put together: what stands closer than any two words do."""
    found: list[Word] = []
    for word in (words[i] for i in _reading_order(words)):
        x, y, w, h = word.box
        if found:
            left, top, wide, high = found[-1].box
            gap = x - left - wide
            if -2 <= gap <= _CLOSE * min(h, high) and y < top + high // 2 < y + h:
                upper, lower = min(y, top), max(y + h, top + high)
                box = (left, upper, x + w - left, lower - upper)
                found[-1] = Word(found[-1].text + word.text, box, min(word.confidence, found[-1].confidence))
                continue
        found.append(word)
    return found


def _control(element: Element, words: list[Word], screen: Screen) -> Place:
    """A box or a small shape as a control, with the text that stands in it."""
    x, _, w, h = element.box
    inside = [word for word in words if _inside(word.box, element.box)]
    text = " ".join(word.text for word in inside)
    kind: PlaceKind
    if element.kind == "square":
        kind = "checkbox"
    elif element.kind == "disc":
        kind = "radio" if min(element.colour) > 200 else "shape"
    elif element.kind == "shape":
        kind = "shape"
    elif w * h > _PANEL_SHARE * screen.width * screen.height or h > _TALL:
        kind = "shape" if not inside and max(w, h) < 0.5 * screen.width else "panel"
    elif not inside:
        kind = "field" if w > 1.6 * h and min(element.colour) > 225 else "shape"
    else:
        left = min(word.box[0] for word in inside) - x
        right = x + w - max(word.box[0] + word.box[2] for word in inside)
        centred = abs(left - right) < 0.15 * w + 6
        white = min(element.colour) > 250
        kind = "button" if (centred and (not white or left < 0.25 * w)) or not white else "field"
        if len(inside) > 3:
            kind = "panel"
    filled = element.area / max(1, w * h)
    marked = bool(inside) if kind in ("checkbox", "radio") else False
    return Place(kind, element.box, text, "", element.colour, filled, marked)


def _icon(image: Pixels, line: Box, controls: list[Place]) -> Place:
    """Ink that cannot be read: a tick in a box, a picture, a small shape."""
    _, _, w, h = line
    colour = _ink(image, line)
    squarish = 0.75 < w / max(1, h) < 1.33
    twin = any(
        p.kind == "checkbox" and abs(p.box[2] - w) <= 0.25 * w and abs(p.box[3] - h) <= 0.25 * h for p in controls
    )
    if twin and squarish and _vivid(colour):
        return Place("checkbox", line, colour=colour, marked=True)
    return Place("shape" if squarish and _vivid(colour) and h > 12 else "icon", line, colour=colour)


def _labelled(place: Place, words: list[Word]) -> Place:
    """With the text beside it, where the place holds none: to the right of ticks, to the left of or above fields."""
    if place.kind in ("text", "link", "panel") or (place.text and place.kind not in ("field", "checkbox", "radio")):
        return place
    x, y, w, h = place.box
    best: tuple[float, str] | None = None
    for word in words:
        wx, wy, ww, wh = word.box
        if _inside(word.box, place.box):
            continue
        row = min(y + h, wy + wh) - max(y, wy) > 0.4 * min(h, wh)
        over = min(x + w, wx + ww) - max(x, wx) > 0
        if row and wx >= x + w - 4:
            gap = (wx - x - w) * (1.0 if place.kind in ("checkbox", "radio") else 2.5)
        elif row and wx + ww <= x + 4:
            aside = x - wx - ww
            gap = aside * (1.0 if place.kind == "field" else 2.0)
            if aside > _BESIDE and not any(_between(word.box, other.box, place.box) for other in words):
                gap = _BESIDE + _FAR_ASIDE * (aside - _BESIDE)  # forms and settings align their fields in a column
        elif over and wy + wh <= y + 4:
            gap = (y - wy - wh) * 1.5 + 10
        else:
            continue
        if gap < 4 * max(20, wh) and (best is None or gap < best[0]):
            best = (gap, word.text)
    return place if best is None else _with_label(place, best[1])


def _between(left: Box, other: Box, right: Box) -> bool:
    """Whether a box begins between two others in their row."""
    begins = left[0] + left[2] <= other[0] < right[0]
    return begins and other[1] < right[1] + right[3] and right[1] < other[1] + other[3]


def _with_label(place: Place, label: str) -> Place:
    return Place(place.kind, place.box, place.text, label, place.colour, place.round, place.marked)


def _text_kind(image: Pixels, box: Box) -> PlaceKind:
    red, green, blue = _ink(image, box)
    return "link" if blue > 120 and blue > red + 60 and blue > green + 40 else "text"


def _ink(image: Pixels, box: Box) -> tuple[int, int, int]:
    """The colour of the ink in a box: that of the pixels furthest from its ground."""
    x, y, w, h = box
    part = image[y : y + h, x : x + w].reshape(-1, 3).astype(np.int16)
    if not len(part):
        return 0, 0, 0
    part = part[:: max(1, len(part) // 1500)]
    ground = np.median(part, axis=0)
    far = np.abs(part - ground).sum(axis=1)
    chosen = part[far >= max(1.0, 0.7 * float(far.max()))]
    red, green, blue = (int(c) for c in np.median(chosen if len(chosen) else part, axis=0))
    return red, green, blue


def _vivid(colour: tuple[int, int, int]) -> bool:
    return max(colour) - min(colour) > 60 or max(colour) < 60


def _inside(box: Box, outer: Box) -> bool:
    """Whether the middle of a box lies in another that is not much smaller."""
    cx, cy = box[0] + box[2] / 2, box[1] + box[3] / 2
    return distance(outer, cx, cy) <= 0 and box[2] <= outer[2] + 8 and box[3] <= outer[3] + 8


def _band(boxes: list[Box], screen: Screen) -> Box | None:
    """The rows of the instruction, over the whole width where no other text shares them."""
    if not boxes:
        return None
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)
    shared = any(
        line not in boxes and top <= line[1] + line[3] / 2 <= bottom and line[2] > 2 * line[3] for line in screen.lines
    )
    return (left, top, right - left, bottom - top) if shared else (0, max(0, top - 6), screen.width, bottom - top + 12)


def _strange(text: str, goal: str, foreign: bool) -> bool:
    """Whether a reading is an icon, most likely: no letter of it is of the goal's script, nor of that of the page.

    `foreign` says that the page has lines in other letters than Latin ones.
    """
    if not _is_foreign(text) or not any(c.isalpha() and ord(c) < _LATIN for c in goal):
        return False
    return not any(ord(c) >= _LATIN and c.isalpha() for c in goal) and (not foreign or len(text) < 2)


def _is_foreign(text: str) -> bool:
    """Whether most letters of a text are not Latin ones."""
    letters = [c for c in text if c.isalnum() or ord(c) > 0x2000]
    return bool(letters) and sum(ord(c) >= _LATIN for c in letters) > 0.5 * len(letters)


def _apart(line: Box, screen: Screen) -> list[Box]:
    """The pieces of a row of icons."""
    x, y, w, h = line
    columns = screen.ink[y : y + h, x : x + w].any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], columns, [False])).astype(np.int8)))
    runs = [[int(a), int(b)] for a, b in edges.reshape(-1, 2)]
    joined = runs[:1]
    for start, end in runs[1:]:
        if start - joined[-1][1] < max(3, 0.12 * h):
            joined[-1][1] = end
        else:
            joined.append([start, end])
    return [(x + start, y, end - start, h) for start, end in joined if end - start >= 3]


def says(place: Place, text: str) -> float:
    """How alike the place's text or label is to a text."""
    return max(alike(place.text, text), 0.95 * alike(place.label, text)) if folded(text) else 0.0
