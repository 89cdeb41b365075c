"""Whether what a history claims is true in the page's own state, and which true achievements it could have claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.bench.pages import HEIGHT, WIDTH, Element
from foretell.gui.bench.perturb.moment import GROUND_SHARE, is_field
from foretell.gui.claims import Claim, Effect, Sort, plain
from foretell.gui.effects import Difference
from foretell.gui.history import Historian, History
from foretell.gui.observation import Pixels
from foretell.gui.words import Box

NEAR_PX = 9.0
PAGE_LEFT = 0.6  # of what was seen: if more is still there it is the same page
_SMALL = GROUND_SHARE * WIDTH * HEIGHT
_ALIKE = frozenset((Sort.CHANGED, Sort.PAGE, Sort.FOCUSED))  # one word for another: a calendar that the focus opens
_UNTOLD = frozenset(("last-event", "background", "colour", "style"))


class Watched(Historian):
    """The embedded updater, which keeps what it made of the last action."""

    last: Effect | None = None

    def look(self, history: History, before: Pixels, after: Pixels, action: Action) -> tuple[Difference, Effect]:
        found = super().look(history, before, after, action)
        self.last = found[1]
        return found


@dataclass
class Tally:
    """Counts by sort: claims made and true ones, states still claimed and still true, achievements and claimed ones."""

    made: Counter[str] = field(default_factory=Counter)
    true: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    still: Counter[str] = field(default_factory=Counter)
    achieved: Counter[str] = field(default_factory=Counter)
    claimed: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, dict[str, int]]:
        return {name: dict(getattr(self, name)) for name in ("made", "true", "held", "still", "achieved", "claimed")}

    def step(
        self,
        action: Action,
        before: Sequence[Element],
        after: Sequence[Element],
        effect: Effect | None,
        held: Sequence[Claim],
    ) -> None:
        """Count one executed action: what was claimed of it, what is still claimed, and what it really achieved."""
        claims = effect.claims if effect is not None else ()
        for claim in claims:
            self.made[claim.sort] += 1
            self.true[claim.sort] += is_true(claim, before, after)
        for claim in held:
            self.held[claim.sort] += 1
            self.still[claim.sort] += is_true(claim, before, after)
        for sort in achievements(action, before, after):
            self.achieved[sort] += 1
            known = _ALIKE if sort in _ALIKE else {sort}
            self.claimed[sort] += any(claim.sort in known for claim in claims)


def is_true(claim: Claim, before: Sequence[Element], after: Sequence[Element]) -> bool:
    """Whether the page's state bears a claim out."""
    here = [e for e in after if e.visible and claim.box is not None and _near(claim.box, e)]
    boxes = [e for e in here if e.type in ("checkbox", "radio") or e.tag == "option"]
    match claim.sort:
        case Sort.TYPED:
            said = plain(claim.text)
            return any(said in plain(e.value if is_field(e) or e.tag == "select" else e.own) for e in here)
        case Sort.HIDDEN:
            return any(is_field(e) and bool(e.value) for e in here)
        case Sort.TICKED:
            return any(e.value == "on" for e in boxes) or (not boxes and bool(changed(before, after)))
        case Sort.UNTICKED:
            return any(not e.value for e in boxes) or (not boxes and bool(changed(before, after)))
        case Sort.FOCUSED:
            return any(e.focused or _holds_focus(e, after) for e in here)
        case Sort.CHANGED:
            refs = changed(before, after)
            small = [e for e in (*before, *after) if e.box[2] * e.box[3] < _SMALL]
            focused = [e for e in here if e.focused and not any(old.focused for old in before if old.ref == e.ref)]
            return bool(focused) or any(e.ref in refs and claim.box is not None and _near(claim.box, e) for e in small)
        case Sort.PAGE:
            return another_page(before, after)
        case Sort.DRAGGED | Sort.ELSEWHERE:
            return bool(changed(before, after))


def achievements(action: Action, before: Sequence[Element], after: Sequence[Element]) -> Iterator[Sort]:
    """What an action really brought about, as far as it is of a sort that can be claimed."""
    were = {e.ref: e for e in before}
    new = [(were[e.ref], e) for e in after if e.ref in were]
    if action.kind is Kind.TYPE and action.text:
        for old, e in new:
            if is_field(e) and e.value != old.value and action.text.strip() in e.value:
                yield Sort.HIDDEN if e.type == "password" else Sort.TYPED
    if action.kind in CLICKS and action.point is not None:
        if another_page(before, after):
            yield Sort.PAGE
            return
        ticks = [(old, e) for old, e in new if e.type in ("checkbox", "radio") and e.value != old.value]
        if ticks:
            yield Sort.TICKED if any(e.value == "on" for _, e in ticks) else Sort.UNTICKED
        elif any(is_field(e) and e.focused and not old.focused for old, e in new):
            yield Sort.FOCUSED
        else:
            refs = changed(before, after)
            under = [e for e in before if e.visible and e.holds(action.point) and e.box[2] * e.box[3] < _SMALL]
            if any(e.ref in refs for e in under):
                yield Sort.CHANGED
    if action.kind is Kind.DRAG and changed(before, after):
        yield Sort.DRAGGED


def changed(before: Sequence[Element], after: Sequence[Element]) -> set[int]:
    """Refs of elements that are not as they were, came or went; what only a pointer or the focus does not counted."""
    was, now = ({e.ref: _state(e) for e in some} for some in (before, after))
    return {ref for ref in was.keys() | now.keys() if was.get(ref) != now.get(ref)}


def another_page(before: Sequence[Element], after: Sequence[Element]) -> bool:
    """Whether much of what was seen is seen no more, or something was laid over most of the page."""
    was, now = ({_look(e) for e in some if e.visible and e.box[2] * e.box[3] < _SMALL} for some in (before, after))
    union = was | now
    if union and len(was & now) <= PAGE_LEFT * len(union):
        return True
    refs = {e.ref for e in before if e.visible}
    return any(e.visible and e.ref not in refs and e.box[2] * e.box[3] > 0.3 * WIDTH * HEIGHT for e in after)


def _look(e: Element) -> tuple[object, ...]:
    return e.tag, e.own, tuple(round(side / 6) for side in e.box)


def _state(e: Element) -> tuple[object, ...]:
    told = {name: value for name, value in e.attributes.items() if name not in _UNTOLD}
    told["class"] = " ".join(one for one in e.classes if "hover" not in one and "focus" not in one)
    return e.text, e.value, e.visible, tuple(round(side) for side in e.box), tuple(sorted(told.items()))


def _holds_focus(element: Element, elements: Sequence[Element]) -> bool:
    by_ref = {e.ref: e for e in elements}
    focused = next((e for e in elements if e.focused), None)
    while focused is not None:
        if focused.ref == element.ref:
            return True
        focused = by_ref.get(focused.parent) if focused.parent is not None else None
    return False


def _near(box: Box, e: Element) -> bool:
    x, y, width, height = box
    left, top, wide, tall = e.box
    return (
        left - NEAR_PX < x + width
        and x < left + wide + NEAR_PX
        and top - NEAR_PX < y + height
        and y < top + tall + NEAR_PX
    )
