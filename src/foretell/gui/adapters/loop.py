"""One guarded step of an agent's loop, the same for every screen, awaited or not.

Look; tell the agent what has been achieved; let it propose; have the proposal judged; where the guard intervenes let it
propose again, as often as the guard asks for it (once by default); perform what was proposed last; tell the guard. The
order of things is written once, as a generator that asks for each of them; two small drivers do what it asks for.

A screen that `looks_again` is looked at once more just before an action at a point is performed: the agent and the
guard took their time, and a page may have changed meanwhile. Where it has, around one of the points, the same proposal
is judged once more on the screen as it is now, once in a step. The last look before each press, also of a later action
of a batch, is taken with the pointer on its target, where the screen can `approach` one. What is new there is judged as
well; since a pointer and earlier actions change a screen honestly, only an irreversible action is held back for that.

The look after an action waits until the screen has come to rest, where the screen says how long that may take: its
`settle_s`, which those of Playwright, X11 and adb have.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from foretell.gui.actions import CLICKS, Action, Kind, Platform, Point
from foretell.gui.adapters.looking import Look, looked, looked_async
from foretell.gui.adapters.rest import differs_at
from foretell.gui.adapters.screen import SPOKEN, AsyncScreen, Screen
from foretell.gui.batch import intents
from foretell.gui.evidence import Evidence
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.risk import EVIDENCE as IRREVERSIBLE
from foretell.gui.risk import is_final
from foretell.gui.verdict import Verdict

MOST_REVISIONS = 8  # of one step, whatever a guard says: then nothing is performed
MOST_STEPS = 30
UNREADABLE_STEPS = 3  # in a row, without any action: the agent only talks

Propose = Callable[[Observation, str], Proposal]
AsyncPropose = Callable[[Observation, str], Awaitable[Proposal] | Proposal]


class GuardLike(Protocol):
    """What the loop needs of a guard: `foretell.gui.guard.Guard` is one."""

    def reset(self) -> None: ...

    def before_action(self, observation: Observation) -> str: ...

    def after_proposal(self, observation: Observation, proposal: Proposal) -> Verdict: ...

    def executed(self, done: Action | Proposal) -> None: ...

    def finished(self, image: Pixels | None = None) -> None: ...


@dataclass(frozen=True, eq=False)
class StepOutcome:
    """What became of one step.

    `proposals` are all that were made, `verdicts` the guard's on each; the last one, `proposal`, is what was performed,
    unless `performed` is false. `answer` is what the agent told the user. `finished` is whether it ended the episode:
    by a termination, or by a message without a call (`Proposal.closing`), as OpenAI's and Anthropic's agents do. An
    answer that was called ends nothing, since a termination may follow it.
    """

    observation: Observation
    proposals: tuple[Proposal, ...]
    verdicts: tuple[Verdict, ...]
    cut_short: Verdict | None = None  # why a later action of the batch, and those behind it, were not performed

    @property
    def performed(self) -> bool:
        return not self.verdicts[-1].intervene

    @property
    def proposal(self) -> Proposal:
        return self.proposals[-1]

    @property
    def interrupted(self) -> bool:
        """Whether the guard had something changed."""
        return len(self.proposals) > 1

    @property
    def answer(self) -> str | None:
        texts = [action.text for action in self.proposal.actions if action.kind is Kind.ANSWER]
        return texts[-1] if texts and self.performed and self.cut_short is None else None

    @property
    def finished(self) -> bool:
        return self.performed and self.cut_short is None and self.proposal.ends

    @property
    def acted(self) -> bool:
        """Whether something was done to the screen, which may be still at work on it."""
        still = SPOKEN | {Kind.WAIT}
        return self.performed and any(action.kind not in still for action in self.proposal.actions)


def guarded_step(
    guard: GuardLike, propose: Propose, screen: Screen, goal: str, step: int = 0, last: StepOutcome | None = None
) -> StepOutcome:
    """One step. `propose` is given the observation and the guard's text for the prompt, feedback included.

    `last` is what became of the step before, after which the screen may be still at work.
    """
    course = _course(guard, goal, step, screen.platform, last)
    wish = next(course)
    while True:
        done: Any = None
        try:
            match wish:
                case _Look():
                    done = looked(screen, *_after(last))
                case _Again():
                    done = screen.observe() if _looks_again(screen) else None
                case _Approach():
                    done = _approached(screen, wish.point)
                case _Consult():
                    done = wish.call()
                case _Ask():
                    done = propose(wish.observation, wish.text)
                case _Gather():
                    done = gather(wish.points) if (gather := _gather(screen)) is not None else None
                case _Do():
                    screen.perform(wish.action)
        except BaseException as error:
            course.throw(error)
            raise
        try:
            wish = course.send(done)
        except StopIteration as end:
            return _outcome(end)


async def guarded_step_async(
    guard: GuardLike,
    propose: AsyncPropose,
    screen: AsyncScreen,
    goal: str,
    step: int = 0,
    last: StepOutcome | None = None,
) -> StepOutcome:
    """The same, awaited; `propose` may be a coroutine function. The guard thinks in a thread of its own."""
    course = _course(guard, goal, step, screen.platform, last)
    wish = next(course)
    while True:
        done: Any = None
        try:
            match wish:
                case _Look():
                    done = await looked_async(screen, *_after(last))
                case _Again():
                    done = await screen.observe() if _looks_again(screen) else None
                case _Approach():
                    done = await _approached_async(screen, wish.point)
                case _Consult():
                    done = await asyncio.to_thread(wish.call)
                case _Ask():
                    answer = propose(wish.observation, wish.text)
                    done = await answer if inspect.isawaitable(answer) else answer
                case _Gather():
                    done = await gather(wish.points) if (gather := _gather(screen)) is not None else None
                case _Do():
                    await screen.perform(wish.action)
        except BaseException as error:
            course.throw(error)
            raise
        try:
            wish = course.send(done)
        except StopIteration as end:
            return _outcome(end)


class GuardedScreen:
    """One episode: a screen, a goal, a guard that begins anew, and a count of steps."""

    def __init__(self, screen: Screen, guard: GuardLike, goal: str) -> None:
        self.screen, self.guard, self.goal = screen, guard, goal
        self.steps = 0
        self._last: StepOutcome | None = None
        guard.reset()

    def step(self, propose: Propose) -> StepOutcome:
        """Look, propose, judge, perform."""
        outcome = guarded_step(self.guard, propose, self.screen, self.goal, self.steps, self._last)
        self._last = outcome
        self.steps += 1
        return outcome

    def run(self, propose: Propose, most_steps: int = MOST_STEPS) -> list[StepOutcome]:
        """Steps until the agent ends the episode, or the screen says that it is `over`, or `most_steps` of them.

        An agent of which no action could be read in three steps in a row is not asked again; the last outcomes have
        its proposals, each with the `fault`.
        """
        outcomes: list[StepOutcome] = []
        while len(outcomes) < most_steps and not _ended(self.screen, outcomes):
            outcomes.append(self.step(propose))
        self.guard.finished(looked(self.screen, *_after(self._last)).image)
        return outcomes


class AsyncGuardedScreen:
    """The same for a screen that is awaited."""

    def __init__(self, screen: AsyncScreen, guard: GuardLike, goal: str) -> None:
        self.screen, self.guard, self.goal = screen, guard, goal
        self.steps = 0
        self._last: StepOutcome | None = None
        guard.reset()

    async def step(self, propose: AsyncPropose) -> StepOutcome:
        outcome = await guarded_step_async(self.guard, propose, self.screen, self.goal, self.steps, self._last)
        self._last = outcome
        self.steps += 1
        return outcome

    async def run(self, propose: AsyncPropose, most_steps: int = MOST_STEPS) -> list[StepOutcome]:
        outcomes: list[StepOutcome] = []
        while len(outcomes) < most_steps and not _ended(self.screen, outcomes):
            outcomes.append(await self.step(propose))
        last = await looked_async(self.screen, *_after(self._last))
        await asyncio.to_thread(self.guard.finished, last.image)
        return outcomes


@dataclass(frozen=True)
class _Look:
    pass


@dataclass(frozen=True)
class _Consult:
    call: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class _Ask:
    observation: Observation
    text: str


@dataclass(frozen=True)
class _Do:
    action: Action


@dataclass(frozen=True)
class _Gather:
    points: tuple[Point, ...]


@dataclass(frozen=True)
class _Again:
    pass


@dataclass(frozen=True)
class _Approach:
    point: Point


_Wish = _Look | _Again | _Approach | _Consult | _Ask | _Gather | _Do
_Course = Generator[_Wish, Any, StepOutcome]


def _course(guard: GuardLike, goal: str, step: int, platform: Platform, last: StepOutcome | None) -> _Course:
    """The order of things."""
    look: Look = yield _Look()
    observation = Observation(goal, look.image, step, platform, settled=look.settled)
    advice: str = yield _Consult(lambda: guard.before_action(observation))
    if last is not None and last.cut_short is not None:
        advice = joined(advice, last.cut_short.feedback)
    proposals: list[Proposal] = []
    verdicts: list[Verdict] = []
    looked_again = False
    while not verdicts or (verdicts[-1].intervene and len(proposals) <= MOST_REVISIONS):
        text = joined(advice, verdicts[-1].feedback) if verdicts else advice
        proposals.append((yield _Ask(observation, text)))
        points = _points(proposals[-1])
        shown = replace(observation, evidence=(yield _Gather(points)))
        verdicts.append((yield _Consult(partial(guard.after_proposal, shown, proposals[-1]))))
        places = () if verdicts[-1].intervene else _places(proposals[-1].actions[:1])
        now: Pixels | None = (yield _Again()) if places and not looked_again else None
        if now is not None and any(differs_at(observation.image, now, place) for place in places):
            looked_again = True  # what moves all the time is judged twice and not for ever
            observation = replace(observation, image=now)
            shown = replace(observation, evidence=(yield _Gather(points)))
            verdicts[-1] = yield _Consult(partial(guard.after_proposal, shown, proposals[-1]))
        if places and not verdicts[-1].intervene:
            objection = yield from _last_look(guard, observation, proposals[-1], 0)
            verdicts[-1] = objection or verdicts[-1]
    performed: list[Action] = []
    cut_short: Verdict | None = None
    try:
        for number, action in enumerate(() if verdicts[-1].intervene else proposals[-1].actions):
            if number and _places((action,)):
                cut_short = yield from _last_look(guard, observation, proposals[-1], number)
                if cut_short is not None:
                    break
            yield _Do(action)
            performed.append(action)
    finally:
        # Also where one of them failed: the guard must know what the screen went through.
        guard.executed(replace(proposals[-1], actions=tuple(performed)))
    return StepOutcome(observation, tuple(proposals), tuple(verdicts), cut_short)


def _last_look(
    guard: GuardLike, observation: Observation, proposal: Proposal, number: int
) -> Generator[_Wish, Any, Verdict | None]:
    """The guard's objection once the pointer is on an action's target; None if nothing has changed there.

    The agent's words for the others say nothing of this one, and it is judged as it is seen now.
    """
    action, intent = proposal.actions[number], intents(proposal)[number]
    places = _places((action,))
    now: Pixels | None = yield _Approach(places[0])
    if now is None or not any(differs_at(observation.image, now, place) for place in places):
        return None
    alone = proposal if len(proposal.actions) == 1 else replace(proposal, actions=(action,), intent=intent)
    evidence: Evidence | None = yield _Gather(_points(alone))
    shown = replace(observation, image=now, evidence=evidence)
    verdict: Verdict = yield _Consult(partial(guard.after_proposal, shown, alone))
    return verdict if verdict.intervene and _is_irreversible(verdict, alone, evidence) else None


def _is_irreversible(verdict: Verdict, proposal: Proposal, evidence: Evidence | None) -> bool:
    by_label = verdict.judgement is not None and IRREVERSIBLE in verdict.judgement.evidence
    return by_label or is_final(proposal, evidence)


def _points(proposal: Proposal) -> tuple[Point, ...]:
    """Points to ask the screen about: where actions press and where drags end."""
    points = (point for action in proposal.actions for point in (action.point, action.to) if point is not None)
    return tuple(dict.fromkeys(points))


def _places(actions: Sequence[Action]) -> tuple[Point, ...]:
    """Points that the first of the actions presses; empty if it presses none."""
    first = actions[0] if actions else None
    if first is None or first.kind not in CLICKS | {Kind.DRAG, Kind.TYPE}:
        return ()
    return tuple(point for point in (first.point, first.to) if point is not None)


def _gather(screen: Any) -> Any:
    """How a screen is asked what it knows of points; None for one that knows pixels only."""
    return getattr(screen, "gather", None)


def _approached(screen: Any, point: Point) -> Pixels | None:
    """The screen with the pointer at a point; None for one that is not looked at again."""
    if not _looks_again(screen) or (approach := getattr(screen, "approach", None)) is None:
        return None
    approach(point)
    image: Pixels = screen.observe()
    return image


async def _approached_async(screen: Any, point: Point) -> Pixels | None:
    """The same, awaited."""
    if not _looks_again(screen) or (approach := getattr(screen, "approach", None)) is None:
        return None
    await approach(point)
    image: Pixels = await screen.observe()
    return image


def _looks_again(screen: Any) -> bool:
    return bool(getattr(screen, "looks_again", False))


def _after(last: StepOutcome | None) -> tuple[Pixels | None, Point | None]:
    """What the screen was like before the last step, and where the pointer was left; nothing where nothing was done."""
    if last is None or not last.acted:
        return None, None
    points = [action.to or action.point for action in last.proposal.actions if action.point is not None]
    return last.observation.image, points[-1] if points else None


def _ended(screen: Screen | AsyncScreen, outcomes: Sequence[StepOutcome]) -> bool:
    talks = len(outcomes) >= UNREADABLE_STEPS and not any(one.proposal.actions for one in outcomes[-UNREADABLE_STEPS:])
    return talks or bool(getattr(screen, "over", False)) or bool(outcomes and outcomes[-1].finished)


def joined(advice: str, feedback: str) -> str:
    """The text for the prompt with the guard's feedback behind it."""
    return f"{advice}\n\n{feedback}" if advice and feedback else advice or feedback


def _outcome(end: StopIteration) -> StepOutcome:
    outcome: StepOutcome = end.value
    return outcome
