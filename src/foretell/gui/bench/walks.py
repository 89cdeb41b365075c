"""Walks an episode with the oracle, at times with a stumble, and keeps every moment of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from foretell.gui.actions import Action
from foretell.gui.bench.oracles import SOLVED_AT, Planned, next_step
from foretell.gui.bench.pages import Element, Page
from foretell.gui.bench.perturb import moment_of, perturbations
from foretell.gui.history import Historian, History
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Pixels, Proposal

MOST_STEPS = 60
STUMBLES = 0.12  # share of steps before which something wrong is done
_STUMBLED = (ErrorClass.CONSTRAINT, ErrorClass.SEMANTIC, ErrorClass.GROUNDING, ErrorClass.OBSERVATION)


@dataclass(frozen=True, eq=False)
class Recorded:
    """One moment of a walked episode; `planned` is None at the end, `done` are all actions before it."""

    elements: tuple[Element, ...]
    image: Pixels
    history: History
    planned: Planned | None
    done: tuple[Action, ...]


def walk(
    page: Page, task: str, seed: int, historian: Historian, rng: random.Random, stumbles: float = STUMBLES
) -> list[Recorded]:
    """Every moment of an episode that the oracle solves, its end included; empty where it does not."""
    page.start(task, seed)
    history = History()
    done: tuple[Action, ...] = ()
    found: list[Recorded] = []
    while len(done) < MOST_STEPS:
        ended = page.done
        planned = None if ended else next_step(task, page.goal, page)
        image = page.screenshot()
        found.append(Recorded(tuple(page.elements()), image, history, planned, done))
        if planned is None:
            return found if ended and page.reward >= SOLVED_AT else []
        proposal = Proposal((planned.action,), planned.intent)
        if rng.random() < stumbles:
            stumble = _stumble(page, task, planned, history, rng)
            if stumble is not None:
                proposal = stumble
                found.pop()
        action = proposal.actions[0]
        page.perform(action)
        history = historian.update(history, image, page.screenshot(), action, proposal.intent)
        done = (*done, action)
    return []


def _stumble(page: Page, task: str, planned: Planned, history: History, rng: random.Random) -> Proposal | None:
    wrong = perturbations(moment_of(page, task, planned, history), rng)
    some = [wrong[error][0] for error in _STUMBLED if error in wrong]
    return rng.choice(some).proposal if some else None


def chosen(moments: Sequence[Recorded], most: int, rng: random.Random) -> list[int]:
    """Which moments to record: the end, and of the others those whose action is of a rarer sort first."""
    *steps, _ = range(len(moments))
    sorts = {i: _sort(moments[i].planned) for i in steps}
    rng.shuffle(steps)
    picked: list[int] = []
    taken: Counter[tuple[object, ...]] = Counter()
    while steps and len(picked) < most:
        best = min(steps, key=lambda i: taken[sorts[i]])
        steps.remove(best)
        taken[sorts[best]] += 1
        picked.append(best)
    return [*sorted(picked), len(moments) - 1]


def _sort(planned: Planned | None) -> tuple[object, ...]:
    return () if planned is None else (planned.action.kind, planned.action.keys)
