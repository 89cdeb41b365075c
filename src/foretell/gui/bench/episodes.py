"""Plays one episode on a real page, with a guard or without, and says how it went."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from foretell.gui.actions import Action, Kind
from foretell.gui.bench.pages import Element, Page
from foretell.gui.bench.policies import Habits, Policy, Rehearsed
from foretell.gui.bench.truth import Tally, Watched
from foretell.gui.guard import Guard
from foretell.gui.observation import Observation, Proposal


@dataclass(frozen=True)
class Outcome:
    """How an episode went. Solved is a positive raw reward of the page.

    Of the proposals `wrong` were wrong; the guard sent `stopped` of those back, and `interrupted` right ones. `missed`
    and `caught` are wrong proposals by error class that it let pass and that it sent back.
    """

    task: str
    seed: int
    solved: bool
    steps: int
    proposals: int
    wrong: int
    stopped: int
    interrupted: int
    caught: dict[str, int]
    missed: dict[str, int]
    faults: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def most_steps(course: tuple[Rehearsed, ...]) -> int:
    """How many steps an agent is given: those needed and half as many, at least three more."""
    return len(course) + max(3, len(course) // 2)


def play(
    page: Page,
    task: str,
    seed: int,
    course: tuple[Rehearsed, ...],
    habits: Habits,
    guard: Guard | None = None,
    watched: Watched | None = None,
    tally: Tally | None = None,
) -> Outcome:
    """One episode. `course` are its right steps, which set how many it may take.

    With `watched`, the guard's historian, and a `tally`, each claim of the history is held against the page's state.
    """
    began_s = time.monotonic()
    goal = page.start(task, seed)
    policy = Policy(page, task, seed, course, habits)
    if guard is not None:
        guard.reset()
    caught: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    interrupted = steps = 0
    before: list[Element] = []
    last: Action | None = None
    faults = 0 if guard is None else len(guard.faults)
    while steps < most_steps(course) and not page.done:
        observation = Observation(goal, page.screenshot(), steps)
        text = "" if guard is None else guard.before_action(observation)
        if guard is not None and tally is not None and watched is not None:
            after = page.elements()
            if last is not None:
                tally.step(last, before, after, watched.last, guard.history.claims)
            before, watched.last = after, None
        proposal = policy.propose(observation, text)
        while guard is not None:
            verdict = guard.after_proposal(observation, proposal)
            error = policy.made[-1].error
            if error is not None:
                (caught if verdict.intervene else missed)[error.value] += 1
            elif verdict.intervene:
                interrupted += 1
            if not verdict.intervene:
                break
            proposal = policy.propose(observation, f"{text}\n\n{verdict.feedback}")
        steps += 1
        last = _execute(page, proposal)
        if guard is not None:
            guard.executed(proposal)
        if any(action.kind is Kind.TERMINATE for action in proposal.actions):
            break
    if guard is not None:
        guard.finished(page.screenshot())
        faults = len(guard.faults) - faults
    return Outcome(
        task,
        seed,
        page.reward > 0,
        steps,
        len(policy.made),
        sum(made.error is not None for made in policy.made),
        sum(caught.values()),
        interrupted,
        dict(caught),
        dict(missed),
        faults,
        round(time.monotonic() - began_s, 3),
    )


def _execute(page: Page, proposal: Proposal) -> Action | None:
    for action in proposal.actions:
        page.perform(action)
    return proposal.actions[-1] if proposal.actions else None
