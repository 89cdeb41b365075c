"""Tasks for episodes on real applications: the recorded walks, which steps are right in them, and injected mistakes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from benchmarks.apps import phrases
from benchmarks.apps.application import Application
from benchmarks.apps.collect import start_of
from benchmarks.apps.moment import FIELDS, Element, Moment, read_moments
from benchmarks.apps.walk import Seen, clauses, completed
from foretell.gui.actions import CLICKS, Kind, Point
from foretell.gui.observation import Proposal

LEAST_STEPS = 2
AWAY_PX = (14.0, 60.0)  # of a click beside its target


@dataclass(frozen=True, eq=False)
class Task:
    """A walk to be played: its goal, where it begins, and the steps that it took."""

    application: Application
    episode: str
    goal: str
    path: str
    size: tuple[int, int]
    theme: str
    plan: tuple[Moment, ...]

    @property
    def name(self) -> str:
        return f"{self.application.name} {self.episode}"

    @property
    def most_steps(self) -> int:
        return 2 * len(self.plan) + 3


def tasks(data: Path, application: Application, seed: str = "") -> list[Task]:
    """The walks of one application as tasks; those of a single step or of an unknown start are left out.

    Another seed words their goals otherwise.
    """
    found = []
    for name, group in groupby(read_moments(data, application.name), key=lambda one: one.episode):
        walk = completed(list(group))
        plan = tuple(one for one in walk if one.planned is not None and one.planned.action.kind is not Kind.SCROLL)
        path = start_of(application, name)
        if len(plan) < LEAST_STEPS or path is None:
            continue
        rng = random.Random(f"{application.name} {name} goal{seed}")
        goal = phrases.goal(clauses(walk), application.title, rng)
        found.append(Task(application, name, goal, path, plan[0].size, plan[0].theme, plan))
    return found


def top_at(seen: Seen, point: Point) -> Element | None:
    """What lies on top at a point."""
    inside = [one for one in seen.elements if one.visible and not one.covered and one.distance(point) == 0.0]
    return min(inside, key=lambda one: one.box[2] * one.box[3], default=None)


def same(one: Element | None, other: Element | None) -> bool:
    if one is None or other is None:
        return False
    return (one.role, one.name, one.group_name) == (other.role, other.name, other.group_name)


def hits(element: Element | None, target: Element | None, seen: Seen) -> bool:
    """Whether an element is the target, or lies in it or around it with the same name."""
    while element is not None:
        if same(element, target):
            return True
        element = seen.elements[element.parent] if element.parent >= 0 else None
    return False


def is_right(proposal: Proposal, seen: Seen, todo: Sequence[Moment]) -> bool | None:
    """Whether the first action is the next step of the plan; None for what neither helps nor harms."""
    action = proposal.actions[0] if proposal.actions else None
    if action is None:
        return False
    if action.kind in (Kind.WAIT, Kind.SCROLL, Kind.MOVE):
        return None
    if action.kind is Kind.TERMINATE or not todo:
        return action.kind is Kind.TERMINATE and not todo
    planned, target = todo[0].planned, todo[0].target
    assert planned is not None
    if action.kind in CLICKS and action.point is not None:
        under = top_at(seen, action.point)
        if planned.action.kind is Kind.TYPE:
            return hits(under, target, seen)  # a click into the field before typing
        return action.kind is planned.action.kind and hits(under, target, seen)
    if action.kind is Kind.TYPE and planned.action.kind is Kind.TYPE:
        return (action.text or "").strip() == (planned.action.text or "").strip()
    return action.kind is planned.action.kind is Kind.KEY and action.keys == planned.action.keys


def completes(proposal: Proposal, right: bool | None, todo: Sequence[Moment]) -> bool:
    """Whether a proposal does the next step; a click into the field that the step types into only prepares it."""
    if not right or not todo or proposal.ends:
        return False
    planned = todo[0].planned
    typing = planned is not None and planned.action.kind is Kind.TYPE
    return not (typing and proposal.actions[0].kind in CLICKS)


def recorded_step(seen: Seen, todo: Sequence[Moment]) -> Proposal | None:
    """The next step of the plan on the screen as it is now; None if its target cannot be acted on."""
    planned, target = todo[0].planned, todo[0].target
    assert planned is not None
    if planned.action.point is None:
        return Proposal((planned.action,), planned.intent)
    for element in seen.elements:
        if element.usable and same(element, target):
            return Proposal((replace(planned.action, point=element.point),), planned.intent)
    return None


def slip(proposal: Proposal, seen: Seen, size: tuple[int, int], rng: random.Random) -> Proposal | None:
    """The proposal gone wrong with its intent as it was; None if it is not a click."""
    action = proposal.actions[0]
    if action.kind not in CLICKS or action.point is None:
        return None
    own = top_at(seen, action.point)
    if rng.random() < 0.5:
        for _ in range(40):
            away = rng.uniform(*AWAY_PX)
            point = Point(action.point.x + rng.uniform(-3, 3) * away, action.point.y + rng.choice((-1, 1)) * away)
            if point.inside(*size) and top_at(seen, point) is None and (own is None or own.distance(point) >= 8.0):
                return replace(proposal, actions=(replace(action, point=point),), raw="")
    others = [one for one in seen.elements if one.usable and one.role not in FIELDS and not hits(one, own, seen)]
    others = [one for one in others if own is None or not hits(own, one, seen)]
    if not others:
        return None
    return replace(proposal, actions=(replace(action, point=rng.choice(others).point),), raw="")
