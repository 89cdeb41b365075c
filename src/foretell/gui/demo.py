"""A guarded episode to look at: a scripted agent that makes mistakes on a real page, with a guard around it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from foretell.gui.actions import POINTED, Action, Kind, Platform, Point
from foretell.gui.adapters.loop import StepOutcome, guarded_step
from foretell.gui.bench.oracles import Planned, next_step
from foretell.gui.bench.pages import HEIGHT, WIDTH, Element, Page
from foretell.gui.guard import Guard, Limits
from foretell.gui.observation import Observation, Pixels, Proposal

TASK = "login-user"
MOST_STEPS = 20
LIMITS = Limits(judgement_s=120.0, history_s=120.0)  # a slow machine must not turn judgements into timeouts
_MISSED_BY_PX = (14, 30)


@dataclass(frozen=True)
class Told:
    """How an episode went. `mistakes` are the wrong proposals, `stopped` those that the guard sent back.

    `reason` says why an episode was not solved; empty if it was.
    """

    goal: str
    solved: bool
    steps: int
    proposals: int
    mistakes: int
    stopped: int
    interrupted: int
    reason: str = ""

    @property
    def words(self) -> str:
        outcome = f"solved in {self.steps} steps" if self.solved else f"not solved: {self.reason}"
        return (
            f"{outcome}; {self.mistakes} wrong proposals, {self.stopped} of them sent back; "
            f"{self.interrupted - self.stopped} right ones sent back"
        )


@dataclass
class ImperfectAgent:
    """Knows the right next step, but with chance `rate` first proposes a wrong one; told to look again, it is right.

    Mistakes are a point beside the target, another element alike, and stopping too early. A seed makes them the same
    every time.
    """

    page: Page
    task: str
    goal: str
    rate: float
    seed: int
    wrong: list[Proposal] = field(default_factory=list)
    _rng: random.Random = field(init=False)
    _calls: Counter[int] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    def propose(self, observation: Observation, text: str) -> Proposal:
        planned = next_step(self.task, self.goal, self.page)
        first = not self._calls[observation.step]
        self._calls[observation.step] += 1
        if planned is None:
            return Proposal((Action(Kind.TERMINATE, success=True),), "everything is done")
        right = Proposal((planned.action,), planned.intent)
        if not first or self._rng.random() >= self.rate:
            return right
        mistaken = self._mistake(planned)
        if mistaken is None:
            return right
        self.wrong.append(mistaken)
        return mistaken

    def _mistake(self, planned: Planned) -> Proposal | None:
        elements = {element.ref: element for element in self.page.elements()}
        target = elements.get(planned.target) if planned.target is not None else None
        ways = [Proposal((Action(Kind.TERMINATE, success=True),), "everything is done")]
        if target is not None and planned.action.kind in POINTED and planned.action.point is not None:
            ways.append(Proposal((Action(planned.action.kind, point=self._beside(target)),), planned.intent))
            others = [
                other
                for other in elements.values()
                if other.tag == target.tag and other.visible and other.ref not in (target.ref, *planned.also_right)
            ]
            if others:
                point = self._rng.choice(others).centre
                ways.append(Proposal((Action(planned.action.kind, point=point),), planned.intent))
        return self._rng.choice(ways[1:] or ways)

    def _beside(self, target: Element) -> Point:
        """A point a little past one side of an element, on the screen."""
        x, y, width, height = target.box
        gap = self._rng.randint(*_MISSED_BY_PX)
        middle_x, middle_y = x + width / 2, y + height / 2
        places = [
            Point(middle_x, y - gap),
            Point(middle_x, y + height + gap),
            Point(x - gap, middle_y),
            Point(x + width + gap, middle_y),
        ]
        return self._rng.choice([place for place in places if place.inside(WIDTH, HEIGHT)] or places)


@dataclass
class PageScreen:
    """A page of the bench as a screen that the loop can look at and act on."""

    page: Page
    platform: Platform = "web"

    def observe(self) -> Pixels:
        return self.page.screenshot()

    def perform(self, action: Action) -> None:
        self.page.perform(action)


def play(page: Page, guard: Guard, task: str, seed: int = 0, rate: float = 0.5, most_steps: int = MOST_STEPS) -> Told:
    """Play one guarded episode and end it in the guard's trace."""
    goal = page.start(task, seed)
    guard.reset()
    agent, screen = ImperfectAgent(page, task, goal, rate, seed), PageScreen(page)
    outcomes: list[StepOutcome] = []
    while len(outcomes) < most_steps and not page.done and not (outcomes and outcomes[-1].finished):
        outcomes.append(guarded_step(guard, agent.propose, screen, goal, len(outcomes)))
    rounds = [pair for one in outcomes for pair in zip(one.proposals, one.verdicts, strict=True)]
    wrong = [(proposal, verdict) for proposal, verdict in rounds if any(proposal is one for one in agent.wrong)]
    told = Told(
        goal,
        solved=page.reward > 0,
        steps=len(outcomes),
        proposals=len(rounds),
        mistakes=len(wrong),
        stopped=sum(verdict.intervene for _, verdict in wrong),
        interrupted=sum(verdict.intervene for _, verdict in rounds),
        reason=_unsolved(page, outcomes, most_steps),
    )
    guard.finished(page.screenshot(), solved=told.solved, mistakes=told.mistakes, sent_back=told.interrupted)
    return told


def _unsolved(page: Page, outcomes: list[StepOutcome], most_steps: int) -> str:
    """Why the page does not count an episode as solved; empty if it does."""
    if page.reward > 0:
        return ""
    if page.done:
        return f"the page rejects the result after {len(outcomes)} steps"
    if outcomes and outcomes[-1].finished:
        passed = outcomes[-1].verdicts[-1]
        why = "did not object" if passed.judgement is not None else f"did not judge it ({passed.reason.value})"
        return f"the agent stopped too early, after {len(outcomes)} steps, and the guard {why}"
    return f"the agent was not done after {most_steps} steps"
