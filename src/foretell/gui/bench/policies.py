"""Scripted agents over the oracle: they know the right step and go wrong in known ways, at known rates.

What they do with what they are told is scripted too: a doubted step is mostly replaced by the right one, and who reads
that something is done, or that nothing changed, mostly does not do it again. A right step that is doubted may be given
up for a wrong one in the same way, so false interruptions cost something.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.bench.oracles import Planned, next_step
from foretell.gui.bench.pages import Element, Page
from foretell.gui.bench.perturb import Moment, moment_of, perturbations, reworded
from foretell.gui.bench.perturb.copies import ORACLE_ERRORS
from foretell.gui.claims import NOTHING
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Pixels, Proposal

# Near misses and wrong elements most of all, then what is forgotten and early stops; a busy page is not staged here.
MIX: Mapping[ErrorClass, float] = MappingProxyType(
    {
        ErrorClass.GROUNDING: 0.24,
        ErrorClass.CONSTRAINT: 0.14,
        ErrorClass.SEMANTIC: 0.12,
        ErrorClass.PREREQUISITE: 0.13,
        ErrorClass.TERMINATION: 0.10,
        ErrorClass.OBSERVATION: 0.06,
        ErrorClass.MISALIGNMENT: 0.06,
        ErrorClass.HALLUCINATION: 0.05,
        ErrorClass.VECTOR: 0.04,
        ErrorClass.SUBOPTIMAL: 0.03,
        ErrorClass.FORMULATION: 0.03,
    }
)
# Near to how HiViG's published code makes mistakes: three classes drawn evenly, of which a model takes one that fits.
EVEN: Mapping[ErrorClass, float] = MappingProxyType(dict.fromkeys(MIX, 1 / len(MIX)))
MOST_STEPS = 60


@dataclass(frozen=True)
class Habits:
    """How often an agent errs, in which ways, and how it takes what it is told. All are chances.

    `errs`: a new step is wrong. `forgets`: a done step is done again. `stubborn`: what changed nothing is repeated.
    `reads`: what the history says is heeded. `revises`: a doubted step becomes the right one, else a wrong one.
    """

    errs: float = 0.15
    forgets: float = 0.04
    stubborn: float = 0.4
    reads: float = 0.8
    revises: float = 0.8
    ways: Mapping[ErrorClass, float] = field(default_factory=lambda: MIX)


IMPERFECT = Habits()
ALL_WAYS = Habits(ways=EVEN)
WEAK = Habits(errs=0.3, forgets=0.08)
PERFECT = Habits(errs=0.0, forgets=0.0, stubborn=0.0, revises=1.0)
SWAYED = Habits(errs=0.0, forgets=0.0, stubborn=0.0, revises=0.8)  # makes no mistakes unless it is doubted


@dataclass(frozen=True)
class Rehearsed:
    """A right step of an episode that was played before, with the element that it was on."""

    planned: Planned
    element: Element | None


def rehearse(page: Page, task: str, seed: int) -> tuple[Rehearsed, ...]:
    """The right steps from the start of an episode to its end; empty where the oracle does not get there."""
    page.start(task, seed)
    found: list[Rehearsed] = []
    while not page.done:
        planned = next_step(task, page.goal, page)
        if planned is None or len(found) >= MOST_STEPS:
            return ()
        by_ref = {e.ref: e for e in page.elements()}
        found.append(Rehearsed(planned, by_ref.get(planned.target) if planned.target is not None else None))
        page.perform(planned.action)
    return tuple(found) if page.reward > 0 else ()


@dataclass(frozen=True)
class Made:
    """A proposal that a policy made: `error` says how it is wrong, None that it is right."""

    proposal: Proposal
    error: ErrorClass | None


@dataclass
class Policy:
    """One agent in one episode. Its errors are a function of task, seed and step, whoever watches over it."""

    page: Page
    task: str
    seed: int
    course: Sequence[Rehearsed]
    habits: Habits = IMPERFECT
    made: list[Made] = field(default_factory=list)
    _last: Made | None = None
    _image: Pixels | None = None
    _done: list[Proposal] = field(default_factory=list)
    _step: int = -1
    _calls: int = 0

    def propose(self, observation: Observation, text: str) -> Proposal:
        """The next proposal; asked again about the same step it takes the text for an objection."""
        again = observation.step == self._step
        self._calls = self._calls + 1 if again else 0
        rng = random.Random(f"{self.task} {self.seed} {observation.step} {self._calls}")
        planned = self._planned()
        if again:
            made = self._made(planned, rng, rng.random() >= self.habits.revises)
        else:
            self._step = observation.step
            made = self._afresh(planned, observation, text, rng)
        self.made.append(made)
        self._last = made
        return made.proposal

    def _afresh(self, planned: Planned | None, observation: Observation, text: str, rng: random.Random) -> Made:
        last, before = self._last, self._image
        still = before is not None and np.array_equal(before, observation.image)
        self._image = observation.image
        if last is not None and last.error is None and last.proposal.actions:
            self._done.append(last.proposal)
        stubborn, forgets, errs, reads = (rng.random() for _ in range(4))
        heeds = reads < self.habits.reads
        repeats = last is not None and last.error is not None and still and stubborn < self.habits.stubborn
        if last is not None and repeats and not (heeds and NOTHING in text):
            return last
        if self._done and forgets < self.habits.forgets:
            old = rng.choice(self._done[-3:])
            right = planned is not None and old.actions[0] == planned.action
            if not right and not (heeds and tells(text, old)):
                return Made(old, ErrorClass.SUBOPTIMAL)
        return self._made(planned, rng, errs < self.habits.errs)

    def _planned(self) -> Planned | None:
        try:
            return next_step(self.task, self.page.goal, self.page)
        except ORACLE_ERRORS:
            return None

    def _made(self, planned: Planned | None, rng: random.Random, wrong: bool) -> Made:
        if planned is None:
            return Made(Proposal((Action(Kind.TERMINATE, success=False),), "nothing is left to do"), None)
        found = self._error(planned, rng) if wrong else None
        if found is not None:
            return found
        return Made(Proposal((planned.action,), reworded(planned.intent, planned.action, rng)), None)

    def _error(self, planned: Planned, rng: random.Random) -> Made | None:
        steps = tuple(Step(one.actions[0], "", True, one.intent) for one in self._done)
        moment = moment_of(self.page, self.task, planned, History(steps=steps))
        moment = with_future(moment, self.course)
        wrong = perturbations(moment, rng)
        kinds = [kind for kind in self.habits.ways if any(one.busy is None for one in wrong.get(kind, ()))]
        if not kinds:
            return None
        kind = rng.choices(kinds, [self.habits.ways[one] for one in kinds])[0]
        return Made(wrong[kind][0].proposal, kind)


def tells(text: str, proposal: Proposal) -> bool:
    """Whether what an agent was told says that this was done: the text typed, or what its words put in quotes."""
    action = proposal.actions[0]
    if action.kind is Kind.TYPE and action.text:
        return action.text.strip() in text or ("as dots" in text and "password" in (proposal.intent or ""))
    if action.kind in CLICKS:
        named = (proposal.intent or "").split("'")[1::2]
        return any(name in text for name in named) if named else "the focus" in text
    return False


def with_future(moment: Moment, course: Sequence[Rehearsed]) -> Moment:
    """The moment with the rehearsed steps after the present one, their targets found again on the page."""
    planned = moment.planned
    if planned is None:
        return moment
    at = max((i for i, one in enumerate(course) if one.planned.intent == planned.intent), default=-1)
    future = []
    for one in course[at + 1 :]:
        target = _found_again(moment, one.element)
        future.append(Planned(one.planned.action, one.planned.intent, None if target is None else target.ref))
    return Moment(
        moment.task, moment.goal, moment.elements, planned, moment.hit, moment.history, tuple(future), moment.earlier
    )


def _found_again(moment: Moment, element: Element | None) -> Element | None:
    if element is None:
        return None
    alike = [e for e in moment.elements if (e.tag, e.id, e.type) == (element.tag, element.id, element.type)]
    same = [e for e in alike if e.text == element.text] or ([] if not element.id else alike)
    return min(
        same,
        key=lambda e: abs(e.middle.x - element.middle.x) + abs(e.middle.y - element.middle.y),
        default=None,
    )
