"""Wrong times: too early, too late, without what comes first, in small steps, looking for what is in sight."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from foretell.gui.actions import CLICKS, POINTED, Action, Kind, Point
from foretell.gui.bench.pages import HEIGHT, WIDTH
from foretell.gui.bench.perturb.moment import Moment, Wrong, is_field, words_for
from foretell.gui.bench.perturb.points import TRIES
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

STOPS = ("the goal is met, stop", "everything is done", "the task is complete", "finish the task")
_GIVEN_UP = ("the goal cannot be reached, give up", "stop: this cannot be done")
_LEAST_LETTERS = 4
_SMALL_PRESSES = {"pageup": "right", "pagedown": "left"}


def left_out(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """A later step now: typing without the focus, ending a form that is not filled, pressing what is covered."""
    planned = moment.planned
    if planned is None or not moment.future:
        return
    for step in moment.future[:3]:
        if step.action.kind in (Kind.TYPE, Kind.KEY) and step.action != planned.action:
            focused = moment.focused is not None and moment.focused.ref == step.target
            if not (focused and planned.action.kind not in (Kind.KEY, Kind.TYPE)):
                yield Wrong(Proposal((step.action,), step.intent), ErrorClass.PREREQUISITE, exact=False)
            break
    last = moment.future[-1]
    clicked = [step for step in moment.future if step.action.kind in CLICKS and step.target not in moment.right]
    if last in clicked and last.target is not None:
        button = moment.by_ref.get(last.target)
        if button is not None and button.visible and not is_field(button):
            press = replace(last.action, point=button.centre)
            yield Wrong(Proposal((press,), last.intent), ErrorClass.PREREQUISITE, exact=False)
    for step in clicked:
        element = moment.by_ref.get(step.target or -1)
        if element is None or element.visible or element.box[2] < 9 or element.box[3] < 9:
            continue
        if element.middle.inside(WIDTH, HEIGHT) and element.ref not in moment.hit(element.middle):
            press = replace(step.action, point=element.middle)
            yield Wrong(Proposal((press,), step.intent), ErrorClass.PREREQUISITE, exact=False)
            break


def ends(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Stopping before the goal is met, and going on after it is."""
    error = ErrorClass.TERMINATION
    if moment.planned is not None:
        yield Wrong(Proposal((Action(Kind.TERMINATE, success=True),), rng.choice(STOPS)), error)
        if rng.random() < 0.3:
            yield Wrong(Proposal((Action(Kind.TERMINATE, success=False),), rng.choice(_GIVEN_UP)), error)
        if rng.random() < 0.3:
            yield Wrong(Proposal((Action(Kind.ANSWER, text="done"),), "answer that it is done"), error)
        return
    last = next((step for step in reversed(moment.history.steps) if step.action.kind is not Kind.WAIT), None)
    if last is not None:
        yield Wrong(Proposal((last.action,), last.intent), error)
    things = [e for e in moment.things if e.centre.inside(WIDTH, HEIGHT)]
    for element in rng.sample(things, min(2, len(things))):
        said = f"click {words_for(moment, element)}"
        yield Wrong(Proposal((Action(Kind.CLICK, point=element.centre),), said), error)


def searches(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Looking for what the step is about, although it is in sight."""
    planned, target = moment.planned, moment.target
    if planned is None or target is None or not target.visible or planned.action.kind not in POINTED | {Kind.TYPE}:
        return
    plain = planned.intent.startswith("click ")
    what = planned.intent.removeprefix("click ") if plain else words_for(moment, target)
    middle = Point(WIDTH * rng.uniform(0.3, 0.7), HEIGHT * rng.uniform(0.4, 0.8))
    far = rng.uniform(0.25, 0.6) * HEIGHT
    ways = [
        (Action(Kind.SCROLL, point=middle, dy=far), f"scroll down to find {what}"),
        (Action(Kind.SCROLL, point=middle, dy=far), "scroll down to see more of the page"),
        (Action(Kind.SCROLL, point=middle, dy=-far), f"scroll up to look for {what}"),
        (Action(Kind.KEY, keys=("pagedown",)), f"press pagedown to look for {what}"),
        (Action(Kind.KEY, keys=("ctrl", "f")), f"search the page for {what}"),
        (Action(Kind.KEY, keys=("end",)), "go to the end of the page to see what is there"),
    ]
    for action, said in rng.sample(ways, 2):
        yield Wrong(Proposal((action,), said), ErrorClass.OBSERVATION)


def detours(moment: Moment, rng: random.Random) -> Iterator[Wrong]:
    """Steps that lead there too, but are smaller than need be, or do nothing."""
    planned, target = moment.planned, moment.target
    if planned is None:
        return
    found: list[tuple[Action, str]] = []
    action = planned.action
    if action.kind is Kind.TYPE and action.text and len(action.text) >= _LEAST_LETTERS:
        letter = action.text[0]
        found.append((Action(Kind.TYPE, text=letter), f"type the letter '{letter}'"))
        if letter.isalnum():
            found.append((Action(Kind.KEY, keys=(letter.lower(),)), f"press the key '{letter}'"))
        if target is not None and target.focused and is_field(target):
            found.append((Action(Kind.CLICK, point=target.centre), f"click {words_for(moment, target)}"))
    elif action.kind is Kind.KEY and action.keys == ("ctrl", "a") and is_field(target):
        found.append((Action(Kind.KEY, keys=("backspace",)), "press backspace to delete the last letter"))
    elif action.kind is Kind.KEY and action.keys[0] in _SMALL_PRESSES:
        small = _SMALL_PRESSES[action.keys[0]]
        found.append((Action(Kind.KEY, keys=(small,)), f"press the {small} arrow key once"))
    elif action.kind is Kind.SCROLL and abs(action.dy) > HEIGHT / 5:
        small_px = action.dy * rng.uniform(0.08, 0.15)
        found.append((replace(action, dy=small_px), planned.intent.replace("scroll", "scroll a little", 1)))
    elif action.kind is Kind.CLICK and target is not None:
        found.append(
            (Action(Kind.MOVE, point=action.point), f"move the mouse to {planned.intent.removeprefix('click ')}")
        )
        found.append((Action(Kind.KEY, keys=("tab",)), "press tab to go to the next element"))
        ground = _ground(moment, rng)
        if ground is not None:
            found.append((Action(Kind.CLICK, point=ground), "click on the page to give it the focus"))
    if action.kind is not Kind.WAIT and rng.random() < 0.25:
        found.append((Action(Kind.WAIT, seconds=rng.choice((1.0, 2.0, 3.0))), "wait for the page"))
    rng.shuffle(found)
    for detour, said in found:
        # A tab may go to the right place, and one letter may choose the right item of a list.
        exact = detour.keys != ("tab",) and not (target is not None and target.tag == "select")
        yield Wrong(Proposal((detour,), said), ErrorClass.SUBOPTIMAL, exact)


def _ground(moment: Moment, rng: random.Random) -> Point | None:
    for _ in range(TRIES):
        point = Point(rng.uniform(0, WIDTH), rng.uniform(0.3 * HEIGHT, HEIGHT))
        if moment.dead(point, margin=12.0) and not set(moment.hit(point)) & moment.right:
            return point
    return None
