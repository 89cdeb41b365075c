"""Wrong texts and keys: another of the texts in sight, a slip, and one thing said while another is done."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.bench.perturb.moment import Moment, Wrong
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

_UNRELATED = ("hello", "test", "admin", "yes", "example", "none", "abc123", "search", "my answer", "default")


def wrong_texts(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Texts that the goal does not ask for, said as they are, or under words that say the right one."""
    planned = moment.planned
    if planned is None or planned.action.kind is not Kind.TYPE or not planned.action.text:
        return
    text = planned.action.text
    bare = text.rstrip("\n")
    near = [one for one in (*_neighbours(moment, bare), *_slips(bare, rng)) if one and one.lower() != bare.lower()]
    near += [one for one in (bare.swapcase(), bare.capitalize()) if one != bare][:1]
    rng.shuffle(near)
    far = [one for one in _UNRELATED if one not in moment.goal.lower() and one != bare]
    rng.shuffle(far)
    for other in near[:4]:
        yield _typed(moment, text, other, True, ErrorClass.CONSTRAINT)
        yield _typed(moment, text, other, False, ErrorClass.MISALIGNMENT)
    for other in far[:2]:
        yield _typed(moment, text, other, True, ErrorClass.SEMANTIC)
        yield _typed(moment, text, other, False, ErrorClass.MISALIGNMENT)


def _typed(moment: Moment, text: str, other: str, told: bool, error: ErrorClass) -> Wrong:
    planned = moment.planned
    assert planned is not None
    bare, ending = text.rstrip("\n"), text[len(text.rstrip("\n")) :]
    said = planned.intent
    if told:
        said = said.replace(f"'{bare}'", f"'{other}'") if f"'{bare}'" in said else f"type '{other}'"
    return Wrong(Proposal((replace(planned.action, text=other + ending),), said), error, exact=False)


def _neighbours(moment: Moment, text: str) -> list[str]:
    """Other texts of the goal and the page that could be taken for the right one."""
    quoted = re.findall(r'"([^"]+)"', moment.goal)
    shown = [
        e.own for e in moment.elements if e.visible and 0 < len(e.own) < 30 and e.tag in ("td", "span", "label", "p")
    ]
    numbers = [str(int(text) + step) for step in (-1, 1, 10)] if text.isdigit() and len(text) < 9 else []
    return [one for one in (*quoted, *numbers, *shown[:12]) if one != text]


def _slips(text: str, rng: random.Random) -> list[str]:
    if len(text) < 3:
        return [text + rng.choice("0123456789")]
    at = rng.randrange(len(text) - 1)
    swapped = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return [text[:-1], swapped, text + text[-1], text[:at] + text[at + 1 :]]


def other_deeds(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """The right words, and a deed of another kind."""
    planned = moment.planned
    if planned is None:
        return
    action, deeds = planned.action, []
    if action.kind in CLICKS:
        deeds += [
            Action(Kind.RIGHT_CLICK, point=action.point),
            Action(Kind.SCROLL, point=action.point, dy=rng.choice((-240.0, 240.0))),
            Action(Kind.KEY, keys=(rng.choice(("escape", "tab", "backspace")),)),
            Action(Kind.TYPE, text=rng.choice(_UNRELATED)),
        ]
    elif action.kind is Kind.TYPE:
        deeds += [Action(Kind.KEY, keys=(rng.choice(("escape", "tab", "delete", "home")),))]
        if moment.target is not None:
            deeds += [Action(Kind.RIGHT_CLICK, point=moment.target.centre)]
    elif action.kind is Kind.KEY:
        deeds += [
            Action(Kind.KEY, keys=(key,))
            for key in ("escape", "tab", "home", "delete")
            if key not in action.keys and key not in planned.intent.lower()
        ]
    elif action.kind in (Kind.SCROLL, Kind.DRAG):
        deeds += [Action(Kind.CLICK, point=action.point), Action(Kind.KEY, keys=("tab",))]
    rng.shuffle(deeds)
    for deed in deeds[:2]:
        yield Wrong(Proposal((deed,), planned.intent), ErrorClass.MISALIGNMENT, exact=False)
