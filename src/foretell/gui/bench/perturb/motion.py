"""Wrong ways: scrolls, drags and arrow keys that go against the right direction, or hardly anywhere."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.pages import HEIGHT, WIDTH
from foretell.gui.bench.perturb.moment import Moment, Wrong
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

_OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left", "pageup": "pagedown", "pagedown": "pageup"}
_WAYS = re.compile(r"\b(up|down|left|right|pageup|pagedown)\b")
_TINY_PX = (2.0, 9.0)


def wrong_ways(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """The right thing moved the wrong way."""
    planned = moment.planned
    if planned is None:
        return
    for action in _moved(planned.action, rng):
        backwards = _backwards(planned.action, action)
        told = backwards and rng.random() < 0.4
        said = _turned(planned.intent) if told else planned.intent
        yield Wrong(Proposal((action,), said), ErrorClass.VECTOR, exact=False)


def _moved(action: Action, rng: random.Random) -> list[Action]:
    found: list[Action] = []
    tiny = rng.uniform(*_TINY_PX)
    if action.kind is Kind.SCROLL:
        way = 1.0 if action.dy > 0 else -1.0
        found = [replace(action, dy=-action.dy), replace(action, dy=way * tiny), replace(action, dx=action.dy, dy=0.0)]
    elif action.kind is Kind.DRAG and action.point is not None and action.to is not None:
        across, down = action.to.x - action.point.x, action.to.y - action.point.y
        ends = [
            Point(action.point.x - across, action.point.y - down),
            Point(action.point.x + down, action.point.y - across),
            Point(action.point.x - down, action.point.y + across),
            Point(action.point.x + 0.06 * across, action.point.y + 0.06 * down),
            Point(action.point.x + tiny, action.point.y),
            Point(action.point.x + 2.2 * across, action.point.y + 2.2 * down),
        ]
        found = [replace(action, to=end) for end in ends if end.inside(WIDTH, HEIGHT)]
        if action.to.inside(WIDTH, HEIGHT):
            found.append(replace(action, point=action.to, to=action.point))
    elif action.kind is Kind.KEY and len(action.keys) == 1 and action.keys[0] in _OPPOSITE:
        found = [replace(action, keys=(_OPPOSITE[action.keys[0]],))]
    rng.shuffle(found)
    return found


def _backwards(right: Action, wrong: Action) -> bool:
    return right.kind is Kind.KEY or (right.kind is Kind.SCROLL and wrong.dy * right.dy < 0 and abs(wrong.dy) > 20)


def _turned(intent: str) -> str:
    return _WAYS.sub(lambda found: _OPPOSITE[found[0]], intent, count=1)
