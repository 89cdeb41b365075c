"""From an action and what it changed on the screen to words: its visible effect, and what it has surely achieved.

Claims are for an agent that will believe them, so a doubtful one is not made: it is told as an effect at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

import numpy as np

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.effects import Difference, area, centre, distance, grown, holds, strongest, vertical_shift_px
from foretell.gui.notices import is_busy
from foretell.gui.observation import Pixels
from foretell.gui.quoting import quoted
from foretell.gui.shapes import dots_in, field_around, focus_ring, local_box, ticked
from foretell.gui.words import Box, Reader, Word

NOTHING = "nothing changed"
LOADING = "the page may still be loading"
DOTS = "••••••"  # stands for a typed secret, whatever its length
HIDDEN_KEY = "•"  # stands for a key that is part of one
NEAR_SHARE = 0.03  # of the screen's shorter side: a change so close to the point belongs to what was clicked
HOVER = 80  # levels of a channel: a weaker change at the point may be the pointer's doing alone

_BLANK_LEVELS, _BLANK_SHARE = 16, 0.001  # of a channel; of the pixels that may differ from the ground
_READ_SHARE = 0.15  # of the screen: a larger region is not read
_NEWS_READ = 2
_LEAST_NEWS_PX = 400  # area of a change away from the click that is worth a claim
_SURE = 0.6  # confidence below which what was read is not quoted
_ALIKE = 0.9  # of the characters, where a text is long enough to forgive one
_FORGIVING_FROM = 10
_MUCH_LIKE = 0.75  # of the characters, where the question is whether a text is new
_MOVED_PX = 80  # how far up and down rows are looked for that moved
_CONFUSED = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "5": "s", "’": "'", "‘": "'"})


class Sort(StrEnum):
    """What sort of achievement it is; in brackets what has to be true in the page's own state."""

    TYPED = "typed"  # the text stands in a field or a list to choose from (its value holds it)
    HIDDEN = "hidden"  # something was typed into a field that shows dots (a password field is not empty)
    TICKED = "ticked"  # a box or a button of several is set (checked)
    UNTICKED = "unticked"
    FOCUSED = "focused"  # what was clicked has the keyboard (it is the active element, or holds it)
    CHANGED = "changed"  # what was clicked has another state (the element, or what is in it, is not as it was)
    ELSEWHERE = "elsewhere"  # a click changed another part of the page (something there is not as it was)
    PAGE = "page"  # most of the screen changed (another page, something laid over it, or a new look of it)
    DRAGGED = "dragged"  # both ends of the drag changed (something moved, or was drawn, or set)


@dataclass(frozen=True)
class Claim:
    """One achievement. `box` is where it can be seen, `text` what was typed or the name of what was clicked."""

    sort: Sort
    sentence: str
    box: Box | None = None
    text: str = ""


@dataclass(frozen=True)
class Effect:
    """The visible effect of one action in words, and what it has achieved beyond doubt."""

    sentence: str
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, eq=False)
class Scene:
    """One executed action with the screens around it. `clicked` is where the last click before it was, if known."""

    action: Action
    before: Pixels
    after: Pixels
    difference: Difference
    reader: Reader | None = None
    clicked: Point | None = None

    @property
    def near_px(self) -> float:
        return max(8.0, NEAR_SHARE * float(min(self.after.shape[:2])))

    def read(self, image: Pixels, box: Box) -> list[Word]:
        """Words of a box in reading order; none where nobody can read or the box is too large to be worth it."""
        height, width = image.shape[:2]
        if self.reader is None or not 0 < area(box) <= _READ_SHARE * width * height:
            return []
        return in_order([word for word in self.reader.read(image, box) if word.confidence >= _SURE])


def effect_of(scene: Scene) -> Effect:
    """The rules: what can be said of this action and this change."""
    kind, changes = scene.action.kind, scene.difference
    if kind in (Kind.ANSWER, Kind.TERMINATE):
        return Effect("the answer was given" if kind is Kind.ANSWER else "the end was declared")
    if not changes.changed:
        return Effect(_unchanged(scene))
    if kind is Kind.TYPE:
        return _typed(scene)
    if kind is Kind.SCROLL:
        return _scrolled(scene)
    if kind is Kind.DRAG:
        return _dragged(scene)
    if changes.whole_page:
        return _page(scene)
    if kind in CLICKS and scene.action.point is not None:
        return _clicked(scene, scene.action.point)
    if HIDDEN_KEY in scene.action.keys:
        return Effect(f"{_where(changes.regions)}; what was typed is hidden")
    waited = "while waiting, " if kind is Kind.WAIT else ""
    return Effect(f"{waited}{_where(changes.regions)}{_now_reads(scene)}")


def in_order(words: Sequence[Word]) -> list[Word]:
    """Words line by line from the top, each line from the left."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda w: w.box[1] + w.box[3] / 2):
        middle = word.box[1] + word.box[3] / 2
        last = lines[-1][0] if lines else None
        if last is not None and abs(middle - (last.box[1] + last.box[3] / 2)) < 0.5 * max(last.box[3], word.box[3]):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [word for line in lines for word in sorted(line, key=lambda w: w.box[0])]


def plain(text: str) -> str:
    """A text as readers may confuse it: without blanks and case, and with look-alikes as one."""
    return "".join(text.split()).casefold().translate(_CONFUSED)


def _same(read: str, typed: str) -> bool:
    if read == typed:
        return True
    forgiving = len(typed) >= _FORGIVING_FROM and abs(len(read) - len(typed)) <= 1
    return forgiving and SequenceMatcher(None, read, typed, autojunk=False).ratio() >= _ALIKE


def _unchanged(scene: Scene) -> str:
    caret, point = scene.difference.caret, scene.action.point
    if caret is not None and point is not None and distance(caret, point) <= 4 * scene.near_px:
        return f"{NOTHING} but a text cursor near the point"
    match scene.action.kind:
        case Kind.TYPE:
            return f"{NOTHING}: the text is not to be seen"
        case Kind.SCROLL:
            return f"{NOTHING}: the view did not move"
        case Kind.WAIT:
            return f"{NOTHING} while waiting"
        case _:
            return NOTHING


def _where(regions: Sequence[Box]) -> str:
    x, y, width, height = regions[0]
    more = f", and {len(regions) - 1} more" if len(regions) > 1 else ""
    return f"the area from ({x}, {y}) to ({x + width}, {y + height}) changed{more}"


def _now_reads(scene: Scene) -> str:
    """What the largest changed region says now, where that can be read."""
    height, width = scene.after.shape[:2]
    words = scene.read(scene.after, grown(scene.difference.regions[0], 4, 4, width, height))
    text = " ".join(word.text for word in words)
    waits = f"; {LOADING}" if any(is_busy(word.text) for word in words) else ""
    return f"; it now reads {quoted(text)}{waits}" if text else ""


def _news_outside(scene: Scene, box: Box) -> str:
    """A new text in one of the largest changed regions outside a box, where one can be read.

    A text that was there before, a few letters read otherwise, or nearby (rows moved), did not appear.
    """
    height, width = scene.after.shape[:2]
    near = grown(box, 8, 8, width, height)
    outside = [region for region in scene.difference.regions if not holds(near, centre(region))]
    for region in outside[:_NEWS_READ]:
        around = grown(region, 4, 4, width, height)
        now = scene.read(scene.after, around)
        before = scene.read(scene.before, around)
        if now and not _was_there(now, before):
            wide = grown(region, 8, _MOVED_PX, width, height)
            if _was_there(now, scene.read(scene.before, wide)):
                continue
            told = " ".join(word.text for word in now)
            return f", and {quoted(told)} appeared" + (f"; {LOADING}" if is_busy(told) else "")
    return ""


def _was_there(now: Sequence[Word], before: Sequence[Word]) -> bool:
    """Whether most of some words, or words much like them, were among others before."""
    old = [plain(word.text) for word in before]
    known = sum(len(word.text) for word in now if any(_much_like(plain(word.text), one) for one in old))
    return known > 0.5 * sum(len(word.text) for word in now)


def _much_like(text: str, other: str) -> bool:
    if text == other or (len(text) > 2 and text in other):
        return True
    return len(text) > 3 and SequenceMatcher(None, text, other, autojunk=False).ratio() >= _MUCH_LIKE


def _page(scene: Scene) -> Effect:
    if _is_blank(scene.after):
        return Effect(f"the screen went blank; {LOADING}")
    name = _name_at(scene, scene.action.point) if scene.action.kind in CLICKS and scene.action.point else ""
    sentence = f"after the click on {quoted(name)} most of the screen changed" if name else "most of the screen changed"
    return Effect("most of the screen changed", (Claim(Sort.PAGE, sentence, text=name),))


def _is_blank(image: Pixels) -> bool:
    """Whether a screen shows next to nothing, as between two pages."""
    sampled = image[::4, ::4].reshape(-1, 3).astype(np.int16)
    if not len(sampled):
        return False
    return float((np.abs(sampled - np.median(sampled, axis=0)).max(axis=1) > _BLANK_LEVELS).mean()) < _BLANK_SHARE


def _typed(scene: Scene) -> Effect:
    text = (scene.action.text or "").strip()
    secret = bool(text) and set(text) <= {"•"}
    if scene.difference.whole_page:
        return Effect("most of the screen changed")
    reference = scene.clicked
    regions = scene.difference.regions
    region = min(regions, key=lambda box: distance(box, reference)) if reference is not None else regions[0]
    field = field_around(scene.after, region)
    place = _in_field(scene, field)
    dots = dots_in(scene.after, region)
    if dots > 1 and (secret or dots == len(text)):
        sentence = f"a text was typed {place.replace('in the', 'into the', 1)}, which shows it as dots"
        return Effect(f"{dots} dots appeared {place}", (Claim(Sort.HIDDEN, sentence, region),))
    if secret:
        return Effect(f"{_where(regions)}; what was typed is hidden")
    read = " ".join(word.text for word in scene.read(scene.after, field))
    there, wanted = plain(read), plain(text)
    if wanted and _same(there, wanted):
        return Effect(
            f"{quoted(text)} appeared {place}", (Claim(Sort.TYPED, f"{quoted(text)} is {place}", region, text),)
        )
    if len(wanted) > 1 and wanted in there and scene.clicked is not None and holds(field, scene.clicked):
        sentence = f"{quoted(text)} is {place}, which reads {quoted(read)}"
        return Effect(f"the text {place} now reads {quoted(read)}", (Claim(Sort.TYPED, sentence, region, text),))
    if read:
        return Effect(f"as far as it can be read, the text {place} is now {quoted(read)}")
    return Effect(f"{_where(regions)}; the typed text cannot be read there")


def _in_field(scene: Scene, field: Box) -> str:
    if scene.clicked is not None and holds(field, scene.clicked):
        return "in the field that was clicked"
    at = centre(field)
    return f"in the field at ({at.x:.0f}, {at.y:.0f})"


def _scrolled(scene: Scene) -> Effect:
    moved = vertical_shift_px(scene.before, scene.after, scene.difference.regions[0], scene.action.dy)
    if moved is None:
        return Effect(_where(scene.difference.regions))
    return Effect(f"the view moved {'down' if moved > 0 else 'up'} by {abs(moved)} pixels")


def _dragged(scene: Scene) -> Effect:
    start, end, near = scene.action.point, scene.action.to, scene.near_px
    told = _where(scene.difference.regions)
    if start is None or end is None:
        return Effect(told)
    from_there = scene.difference.region_at(start, near)
    to_there = scene.difference.region_at(end, near)
    if from_there is None and to_there is None:
        return Effect(f"{told}, but neither end of the drag")
    if from_there is None or to_there is None:
        return Effect(f"{told}, at {'its end' if from_there is None else 'its beginning'} only")
    sentence = f"a drag from ({start.x:.0f}, {start.y:.0f}) to ({end.x:.0f}, {end.y:.0f}) changed both places"
    return Effect(sentence, (Claim(Sort.DRAGGED, sentence, to_there),))


def _clicked(scene: Scene, point: Point) -> Effect:
    regions, mask = scene.difference.regions, scene.difference.mask
    at = f"({point.x:.0f}, {point.y:.0f})"
    ring = focus_ring(scene.after, mask, point)
    if ring is not None:
        sentence = f"what was clicked at {at} has the focus"
        told = f"an outline at {at} shows that it has the focus{_news_outside(scene, ring)}"
        return Effect(told, (Claim(Sort.FOCUSED, sentence, ring),))
    region = scene.difference.region_at(point, scene.near_px)
    here = local_box(mask, point, scene.near_px)
    if region is None or here is None:
        told = f"{_where(regions)}, which is not where the click was{_now_reads(scene)}"
        return Effect(told, _elsewhere(scene, _name_at(scene, point), at, regions))
    filled = ticked(scene.before, scene.after, here)
    if filled is not None:
        name = _name_at(scene, point, right_of=here)
        words = "was ticked" if filled else "was unticked"
        sentence = f"{quoted(name)} {words}" if name else f"the box at {at} {words}"
        return Effect(sentence, (Claim(Sort.TICKED if filled else Sort.UNTICKED, sentence, here, name),))
    name = _name_at(scene, point)
    who = quoted(name) if name else f"what is at {at}"
    others = len(regions) - 1
    more = "" if not others else "; another area changed" if others == 1 else f"; {others} more areas changed"
    if not holds(here, point):
        told = f"after the click on {who} the area beside it changed{more}{_now_reads(scene)}"
        return Effect(told, _elsewhere(scene, name, at, regions))
    news = _news_outside(scene, here) if more else ""
    if strongest(scene.before, scene.after, here) < HOVER:
        if not more:
            return Effect(f"the look of {who} changed a little, as it does under a pointer")
        away = [region for region in regions if region != scene.difference.region_at(point, scene.near_px)]
        told = f"after the click on {who} {_where(away or regions)}{news}"  # the hover shade is no news
        return Effect(told, _elsewhere(scene, name, at, away))
    sentence = f"{who} was clicked and changed"
    return Effect(f"{sentence}{more}{news}", (Claim(Sort.CHANGED, sentence, here, name),))


def _elsewhere(scene: Scene, name: str, at: str, regions: Sequence[Box]) -> tuple[Claim, ...]:
    """The claim that a click changed another part of the page, if the change is large enough to be meant.

    Where the same can be read there as before (a cell became bold, a frame moved), it is a change of looks, which
    achieves nothing that is known: it is told as an effect alone.
    """
    largest = max(regions, key=area, default=None)
    if largest is None or area(largest) < _LEAST_NEWS_PX or not _reads_anew(scene, regions):
        return ()
    who = quoted(name) if name else f"what is at {at}"
    return (Claim(Sort.ELSEWHERE, f"{who} was clicked, and another part of the page changed", largest, name),)


def _reads_anew(scene: Scene, regions: Sequence[Box]) -> bool:
    """Whether one of the largest regions has another text than before, is too large to be read, or nobody can read."""
    height, width = scene.after.shape[:2]
    for region in sorted(regions, key=area, reverse=True)[:_NEWS_READ]:
        around = grown(region, 4, 4, width, height)
        if scene.reader is None or area(around) > _READ_SHARE * width * height:
            return True
        was, now = (plain(" ".join(word.text for word in scene.read(i, around))) for i in (scene.before, scene.after))
        if not _same(now, was):
            return True
    return False


def _name_at(scene: Scene, point: Point | None, right_of: Box | None = None) -> str:
    """The text under a point before the action, or that right of a box on its line; empty where there is none."""
    if point is None:
        return ""
    height, width = scene.before.shape[:2]
    if right_of is not None:
        x, y, wide, tall = right_of
        words = scene.read(scene.before, grown((x + wide, y, 8 * tall, tall), 0, tall // 4, width, height))
        beside = [word for word in words if word.box[0] - (x + wide) <= 1.5 * tall]
        return beside[0].text if beside else ""
    around = grown((int(point.x), int(point.y), 1, 1), width // 5, max(12, height // 30), width, height)
    for word in scene.read(scene.before, around):
        if holds(grown(word.box, 3, 3, width, height), point):
            return word.text
    return ""
