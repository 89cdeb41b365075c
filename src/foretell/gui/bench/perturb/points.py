"""Wrong points: beside the target, on something else, on something that is not there."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

from foretell.gui.actions import CLICKS, POINTED, Action, Kind, Point
from foretell.gui.bench.pages import HEIGHT, WIDTH, Element
from foretell.gui.bench.perturb.moment import Moment, Wrong, name_of, said_of, words_for
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

TRIES = 24
GAP_PX = (5.0, 42.0)
MISPLACED_PX = (45.0, 150.0)  # in pictures, where the place itself is the target
_ALIKE_SIZE = 1.7
_GUESSES = (
    ("the menu icon", (0.06, 0.05)),
    ("the x in the corner to close the window", (0.95, 0.04)),
    ("the button 'Next'", (0.85, 0.94)),
    ("the button 'OK'", (0.5, 0.9)),
    ("the search field", (0.5, 0.06)),
    ("the button 'Continue'", (0.5, 0.8)),
    ("the back arrow", (0.05, 0.95)),
    ("the link 'Settings'", (0.9, 0.1)),
    ("the icon with the gear", (0.92, 0.5)),
    ("the button 'Accept all'", (0.7, 0.85)),
    ("the tab 'Home'", (0.15, 0.3)),
    ("the link 'More options'", (0.2, 0.92)),
)


def near_misses(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """The right thing, and a point that is not on it."""
    planned, target = moment.planned, moment.target
    if planned is None or target is None or planned.action.point is None or planned.action.kind not in POINTED:
        return
    for point in _beside(moment, rng) if not _place_is_all(moment) else _misplaced(planned.action.point, rng):
        moved = replace(planned.action, point=point)
        yield Wrong(Proposal((moved,), planned.intent), ErrorClass.GROUNDING, exact=False)


def _place_is_all(moment: Moment) -> bool:
    return moment.target is not None and moment.target.tag in ("svg", "canvas")


def _misplaced(right: Point, rng: random.Random) -> Iterator[Point]:
    for _ in range(TRIES):
        far, way = rng.uniform(*MISPLACED_PX), rng.uniform(0, 2 * math.pi)
        point = Point(right.x + far * math.cos(way), right.y + far * math.sin(way))
        if point.inside(WIDTH, HEIGHT) and point.y > 0.25 * HEIGHT:
            yield point


def _beside(moment: Moment, rng: random.Random) -> Iterator[Point]:
    target = moment.target
    if target is None:
        return
    x, y, width, height = target.box
    for _ in range(TRIES):
        gap = rng.uniform(*GAP_PX)
        along_x, along_y = x + width * rng.uniform(0.1, 0.9), y + height * rng.uniform(0.1, 0.9)
        sides = (
            Point(along_x, y - gap),
            Point(along_x, y + height + gap),
            Point(x - gap, along_y),
            Point(x + width + gap, along_y),
        )
        point = rng.choice(sides)
        if moment.dead(point) and not set(moment.hit(point)) & moment.right:
            yield point


def others(moment: Moment) -> list[Element]:
    """Things on the page that have nothing to do with the right step, now or later."""
    tied = moment.right | moment.later
    found = []
    for element in moment.things:
        under = moment.hit(element.centre)
        if not moment.related(element, tied) and not set(under) & tied and element.ref in under:
            found.append(element)
    return found


def alike(moment: Moment, one: Element, other: Element) -> bool:
    """Whether two elements look like two of a kind."""
    if one.tag != other.tag or one.type != other.type:
        return False
    sizes = (one.box[2] * one.box[3], other.box[2] * other.box[3])
    return max(sizes) < _ALIKE_SIZE**2 * min(sizes) or set(one.classes) == set(other.classes)


def wrong_elements(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Another of those alike (constraint), something else (semantic), either under the right words (misalignment)."""
    planned, target = moment.planned, moment.target
    if planned is None:
        return
    found = others(moment)
    rng.shuffle(found)
    pointed = planned.action.kind in POINTED and target is not None
    for element in found:
        same = pointed and target is not None and alike(moment, element, target)
        action = _on(element, planned.action) if pointed and (same or planned.action.kind in CLICKS) else None
        action = action or Action(Kind.CLICK, point=element.centre)
        said = said_of(moment, element) if action.kind is planned.action.kind else f"click {words_for(moment, element)}"
        if said != planned.intent:
            error = ErrorClass.CONSTRAINT if same else ErrorClass.SEMANTIC
            yield Wrong(Proposal((action,), said), error, exact=False)
        if pointed and not (same and name_of(moment, element) == name_of(moment, target or element)):
            yield Wrong(Proposal((action,), planned.intent), ErrorClass.MISALIGNMENT, exact=False)


def _on(element: Element, action: Action) -> Action | None:
    """The same action on another element; a drag keeps its end."""
    if (
        action.kind is Kind.DRAG
        and action.to is not None
        and math.dist((element.middle.x, element.middle.y), (action.to.x, action.to.y)) < 0.5 * max(element.box[2:])
    ):
        return None
    return replace(action, point=element.middle if action.kind is Kind.DRAG else element.centre)


def hallucinations(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Clicks on what earlier screens showed and this one does not, or on what is on no screen here."""
    if moment.planned is None:
        return
    gone = _gone(moment)
    rng.shuffle(gone)
    for element in gone[:4]:
        if moment.dead(element.centre):
            click = Action(Kind.CLICK, point=element.centre)
            yield Wrong(
                Proposal((click,), f"click {words_for(moment, element)}"), ErrorClass.HALLUCINATION, exact=False
            )
    text = " ".join(e.text for e in moment.elements if e.visible).casefold() + moment.goal.casefold()
    for said, (across, down) in rng.sample(_GUESSES, len(_GUESSES)):
        quoted = said.split("'")[1].casefold() if "'" in said else ""
        point = Point(
            WIDTH * min(0.98, max(0.02, across + rng.uniform(-0.05, 0.05))),
            HEIGHT * min(0.98, max(0.02, down + rng.uniform(-0.05, 0.05))),
        )
        if (not quoted or quoted not in text) and moment.dead(point, margin=8.0):
            click = Action(Kind.CLICK, point=point)
            yield Wrong(Proposal((click,), f"click {said}"), ErrorClass.HALLUCINATION, exact=False)


def _gone(moment: Moment) -> list[Element]:
    """Named things of earlier screens that cannot be seen now."""
    seen = {e.ref for e in moment.elements if e.visible}
    names = {name_of(moment, e) for e in moment.elements if e.visible}
    limit = 0.1 * WIDTH * HEIGHT
    return [
        e
        for screen in moment.earlier[-3:]
        for e in screen
        if e.visible and e.ref not in seen and 0 < e.box[2] * e.box[3] < limit and e.own and e.own not in names
    ]
