"""From walks to labelled proposals: right ones in several words and at several points, wrong ones of every class.

Two sorts of goals: that of the walk, and at the same moments others that go on with another thing in sight, which the
walk has not acted on yet. All is drawn by seeds that depend on the application and the moment alone.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.apps import phrases
from benchmarks.apps.moment import Element, Moment, Planned
from benchmarks.apps.split import is_held_out
from benchmarks.apps.walk import ambiguous, clauses, completed, is_target, text_for
from benchmarks.apps.wrong import RULES, STOPS, Case, Wrong, directions, side_targets, unavailable
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.dataset import Row, load_image
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Proposal

DETAILS = "details.jsonl"
SILENT = 0.12  # share of proposals without an intent
RARE = {ErrorClass.FORMULATION: 3.0}  # classes that are easy to see are taken less often
LEAST_CONTRAST = 10  # of 255, between the darkest and the brightest pixel of what can be seen
_WAITS = ("wait until it has loaded", "wait a moment", "wait for the application to finish", "give it time to respond")


@dataclass(frozen=True)
class Amount:
    """Proposals for each moment: right and wrong ones for the walk's goal, side goals, and the same for those."""

    right: int = 2
    wrong: int = 4
    sides: int = 7
    side_right: int = 1
    side_wrong: int = 1


AMOUNTS = (
    Amount(),
    Amount(sides=11),
    Amount(sides=16),
    Amount(sides=16, side_right=2),
    Amount(right=3, sides=24, side_right=2),
    Amount(right=4, sides=36, side_right=3),
)  # more and more, for applications with few moments


@dataclass
class Labeller:
    """Makes the rows of one application, rarer classes first."""

    application: str
    amount: Amount = field(default_factory=Amount)
    counts: Counter[ErrorClass] = field(default_factory=Counter)
    details: list[dict[str, Any]] = field(default_factory=list)

    def rows(self, moments: Sequence[Moment]) -> list[Row]:
        """Every row of the application's walks."""
        found: list[Row] = []
        for _, group in groupby(moments, key=lambda one: one.episode):
            walk = completed(list(group))
            for at in range(len(walk)):
                found.extend(self._of_moment(walk, at))
        return found

    def _of_moment(self, walk: Sequence[Moment], at: int) -> list[Row]:
        moment = walk[at]
        rng = random.Random(f"{self.application} {moment.episode} {moment.number} label")
        asked = phrases.goal(clauses(walk), moment.title, random.Random(f"{self.application} {moment.episode} goal"))
        names = frozenset(phrases.plain_words(one.target.name) for one in walk[at:] if one.target is not None)
        main = self._case(walk, at, asked, names)
        labelled: list[tuple[Case, Proposal, Wrong | None, bool]] = []
        unseen = main.target is not None and not main.target.visible
        for proposal in [] if unseen else self._right(main, rng, self.amount.right):
            labelled.append((main, proposal, None, False))
        for wrong in [] if unseen else self._wrong(main, rng, self.amount.wrong):
            labelled.append((main, wrong.proposal, wrong, wrong.busy))
            if wrong.busy:
                wait = Action(Kind.WAIT, seconds=rng.choice((1.0, 2.0, 3.0)))
                labelled.append((main, Proposal((wait,), phrases.spoken(rng.choice(_WAITS), rng)), None, True))
        current = "" if moment.planned is None else moment.planned.clause
        done = [one for one in clauses(walk[:at]) if one != current]
        repeated: list[Case] = []
        for element in side_targets(moment, rng, self.amount.sides):
            side = self._side(moment, done, element, rng)
            if _was_acted_on(element, walk[:at]):
                repeated.append(side)
            labelled += [(side, one, None, False) for one in self._right(side, rng, self.amount.side_right)]
            labelled += [(side, w.proposal, w, w.busy) for w in self._wrong(side, rng, self.amount.side_wrong)]
        labelled += self._unavailable(moment, done, rng)
        labelled += self._scrolls(moment, done)
        return [
            self._row(moment, number, *one, rng)
            for number, one in enumerate(labelled)
            if not any(one[0] is side for side in repeated)
        ]

    def _case(self, walk: Sequence[Moment], at: int, asked: str, names: frozenset[str]) -> Case:
        moment = walk[at]
        planned = moment.planned
        if planned is None:
            return Case(moment, asked, None, None, "", names)
        following = next((one.planned for one in walk[at + 1 :] if one.planned is not None), None)
        text = ""
        if following is not None and following.action.kind is Kind.TYPE and following.clause == planned.clause:
            text = following.action.text or ""
        return Case(moment, asked, planned.action, moment.target, planned.intent, names, text)

    def _side(self, moment: Moment, done: list[str], element: Element, rng: random.Random) -> Case:
        place = ambiguous(element, _seen(moment))
        text = text_for(element, _seen(moment), rng) if element.editable else ""
        clause = phrases.clause(element, rng, text, place)
        said = phrases.intent(element, rng, moment.size, place)
        action = Action(Kind.CLICK, element.point)
        if text and element.focused:
            action, said = Action(Kind.TYPE, text=text), phrases.typing(element, text, rng)
        names = frozenset((phrases.plain_words(element.name),))
        return Case(moment, phrases.goal([*done, clause], moment.title, rng), action, element, said, names, text)

    def _right(self, case: Case, rng: random.Random, count: int) -> list[Proposal]:
        if case.action is None:
            stop = Action(Kind.TERMINATE, success=True)
            return [Proposal((stop,), phrases.spoken(rng.choice(STOPS), rng)) for _ in range(min(count, 1))]
        found = [Proposal((case.action,), case.said)]
        while len(found) < count:
            action, said = case.action, case.said
            if case.target is not None and action.kind is Kind.CLICK:
                action = replace(action, point=_within(case, rng))
                said = phrases.intent(case.target, rng, case.moment.size, ambiguous(case.target, _seen(case.moment)))
            elif case.target is not None and action.kind is Kind.TYPE:
                said = phrases.typing(case.target, action.text or "", rng)
            found.append(Proposal((action,), said))
        return found

    def _wrong(self, case: Case, rng: random.Random, count: int) -> list[Wrong]:
        by_class: dict[ErrorClass, list[Wrong]] = {}
        for rule in RULES:
            for wrong in rule(case, rng):
                by_class.setdefault(wrong.error, []).append(wrong)
        order = sorted(by_class, key=lambda kind: (self.counts[kind] + 1) * RARE.get(kind, 1.0) * rng.uniform(0.7, 1.3))
        found = [rng.choice(by_class[kind]) for kind in order[:count]]
        self.counts.update(one.error for one in found)
        return found

    def _unavailable(
        self, moment: Moment, done: list[str], rng: random.Random
    ) -> list[tuple[Case, Proposal, Wrong | None, bool]]:
        """Pressing what is disabled or covered, where a goal asks for it."""
        some = unavailable(moment)
        if not some or rng.random() < 0.5:
            return []
        element = rng.choice(some)
        said = phrases.intent(element, rng, moment.size)
        asked = phrases.goal([*done, phrases.clause(element, rng)], moment.title, rng)
        names = frozenset((phrases.plain_words(element.name),))
        action = Action(Kind.CLICK, element.point)
        rule = "is disabled" if element.disabled else "is covered"
        wrong = Wrong(Proposal((action,), said), ErrorClass.PREREQUISITE, rule)
        self.counts[wrong.error] += 1
        return [(Case(moment, asked, action, element, said, names), wrong.proposal, wrong, False)]

    def _scrolls(self, moment: Moment, done: list[str]) -> list[tuple[Case, Proposal, Wrong | None, bool]]:
        """Scrolling to what lies below: the right way, and wrong ones."""
        rng = random.Random(f"{self.application} {moment.episode} {moment.number} scroll")
        below = [one for one in moment.elements if one.below and not one.visible and is_target(one, _seen(moment))]
        if not below or moment.dialog:
            return []
        element = rng.choice(below[:12])
        asked = phrases.goal([*done, phrases.clause(element, rng)], moment.title, rng)
        said = phrases.spoken(f"scroll down to find {phrases.label(element)}", rng)
        action = Action(Kind.SCROLL, dy=float(round(0.7 * moment.size[1])))
        case = Case(moment, asked, action, None, said, frozenset((phrases.plain_words(element.name),)))
        wrong = rng.sample(list(directions(case, rng)), 2)
        return [(case, Proposal((action,), said), None, False), *((case, one.proposal, one, False) for one in wrong)]

    def _row(
        self,
        moment: Moment,
        number: int,
        case: Case,
        proposal: Proposal,
        wrong: Wrong | None,
        busy: bool,
        rng: random.Random,
    ) -> Row:
        name = f"{self.application}-{moment.episode}-{moment.number}-{number}"
        if rng.random() < SILENT and proposal.fault is None:
            proposal = replace(proposal, intent=None)
        self.details.append(
            {
                "id": name,
                "application": self.application,
                "size": list(moment.size),
                "theme": moment.theme,
                "rule": "right" if wrong is None else wrong.rule,
                "ref": None if case.target is None else case.target.ref,
                "box": None if case.target is None else list(case.target.box),
                "moment": [moment.episode, moment.number],
            }
        )
        image = moment.busy if busy and moment.busy else moment.image
        split = "held_out" if is_held_out(self.application) else "train"
        seed = sum(map(ord, moment.episode))
        error = None if wrong is None else wrong.error
        return Row(
            name,
            self.application,
            seed,
            moment.number,
            split,
            case.goal,
            image,
            moment.history,
            proposal,
            error is not None,
            error,
        )


def drawn(folder: Path, moment: Moment) -> Moment:
    """The moment without elements of which the picture shows nothing: what toolbars cut off, transparent controls."""
    image = load_image(folder / moment.image)

    def shows(element: Element) -> bool:
        x, y, width, height = (round(side) for side in element.box)
        part = image[max(0, y - 2) : y + height + 2, max(0, x - 2) : x + width + 2].reshape(-1, 3)
        return part.size > 0 and int((part.max(axis=0) - part.min(axis=0)).max()) > LEAST_CONTRAST

    elements = (
        one if not one.visible or shows(one) else replace(one, visible=False, aim=None) for one in moment.elements
    )
    return replace(moment, elements=tuple(elements))


def _was_acted_on(element: Element, before: Sequence[Moment]) -> bool:
    """Whether the walk acted on something before: then a goal that asks for it is met, or asks for it once more."""
    known = (phrases.plain_words(element.name), element.role)
    targets = (one.target for one in before)
    return any(known == (phrases.plain_words(one.name), one.role) for one in targets if one is not None)


def _seen(moment: Moment) -> Any:
    return moment  # has the elements and the text that names and texts are looked up in


def _within(case: Case, rng: random.Random) -> Point:
    """Another point at which the target lies on top."""
    assert case.target is not None
    x, y, width, height = case.target.box
    for _ in range(8):
        point = Point(x + width * rng.uniform(0.12, 0.88), y + height * rng.uniform(0.15, 0.85))
        if case.moment.at(point) == case.target.ref:
            return point
    return case.target.point


def write_details(folder: Path, details: Sequence[dict[str, Any]]) -> None:
    """Write what is known of each row besides the row: size, theme, rule, target."""
    (folder / DETAILS).write_text("".join(json.dumps(one) + "\n" for one in details), encoding="utf-8")


__all__ = ["Amount", "Labeller", "Planned", "write_details"]
