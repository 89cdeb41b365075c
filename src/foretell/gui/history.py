"""The macro-action history: what was achieved as far as the screen confirmed it, and what the last action did."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from foretell.gui.actions import CLICKS, TEXTS, Action, Kind, Point
from foretell.gui.claims import Claim, Effect, Scene, Sort, effect_of
from foretell.gui.effects import Difference, area, crop, difference, holds
from foretell.gui.observation import Pixels
from foretell.gui.quoting import NOTICE, has_quotes, unmarked
from foretell.gui.words import Box, Reader

ACHIEVED_KEPT = 12
STEPS_KEPT = 12
_STALLED_FROM = 2  # unchanged steps in a row that are worth a word
_DIGEST_CHARACTERS = 16
_COVERS = 4.0  # times the place of a claim: a larger change is one of what lies over it
_PLAIN = 6.0  # standard deviation of the light in what has nothing in it
_STATES = frozenset((Sort.TYPED, Sort.HIDDEN, Sort.TICKED, Sort.UNTICKED, Sort.FOCUSED))  # what can be undone


@dataclass(frozen=True)
class Step:
    """An executed action with a digest of the screen before it and whether anything changed."""

    action: Action
    screen: str
    changed: bool
    intent: str | None = None


@dataclass(frozen=True)
class History:
    """What is known of an episode so far; a value, updated in constant time a step.

    `achieved` are the latest confirmed achievements, oldest first; `effect` is the last action's visible effect in
    words ("nothing changed" included, empty before the first); `steps` are the latest steps, oldest first; `count` is
    how many there were in all. `claims` are those achievements of which the place on the present page is known: a
    later action there takes them back.
    """

    achieved: tuple[str, ...] = ()
    effect: str = ""
    steps: tuple[Step, ...] = ()
    count: int = 0
    claims: tuple[Claim, ...] = field(default=(), compare=False)


class Updates(Protocol):
    """Whoever keeps a history: from the screens before and after an action to the history after it."""

    def update(
        self, history: History, before: Pixels, after: Pixels, action: Action, intent: str | None
    ) -> History: ...


class Historian:
    """The embedded updater: pixel difference, the text of changed regions, and rules. No state, no language model.

    Without a reader no text is read, so what was typed is never confirmed. Where the reader fails its error is raised.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        self.reader = reader

    def update(self, history: History, before: Pixels, after: Pixels, action: Action, intent: str | None) -> History:
        changes, effect = self.look(history, before, after, action)
        step = Step(action, screen_digest(before), changes.changed, intent)
        return noted(replace(kept(history, changes, effect, action, after), effect=effect.sentence), step)

    def look(self, history: History, before: Pixels, after: Pixels, action: Action) -> tuple[Difference, Effect]:
        """What changed, and what the rules make of it."""
        # A single typed letter may be as thin as a caret.
        thin = action.kind is Kind.KEY or (action.kind is Kind.TYPE and len((action.text or "").strip()) < 2)
        changes = difference(before, after, ignore_caret=not thin)
        return changes, effect_of(Scene(action, before, after, changes, self.reader, last_click(history)))


def screen_digest(image: Pixels) -> str:
    """A short name of what a screen shows: equal for equal pixels."""
    found = hashlib.blake2b(repr(image.shape).encode(), digest_size=_DIGEST_CHARACTERS // 2)
    found.update(np.ascontiguousarray(image).data)
    return found.hexdigest()


def noted(history: History, step: Step) -> History:
    """The history with one more step, the oldest forgotten where there are too many."""
    return replace(history, steps=(*history.steps, step)[-STEPS_KEPT:], count=history.count + 1)


def last_click(history: History) -> Point | None:
    """Where the latest click was, unless something since may have moved the page or the focus."""
    for step in reversed(history.steps):
        if step.action.kind in CLICKS:
            return step.action.point
        if step.action.kind not in (Kind.TYPE, Kind.WAIT) and not (
            step.action.kind is Kind.KEY and "tab" not in step.action.keys
        ):
            return None
    return None


def kept(history: History, changes: Difference, effect: Effect, action: Action, after: Pixels) -> History:
    """The achievements after an action: those it undid taken back, its own added.

    What a menu or a dialog covers is not undone, nor what is scrolled or navigated away from.
    """
    undone = {claim.sentence for claim in history.claims if _undone(claim, changes, action, after)}
    replaced = {claim.sentence for claim in effect.claims}
    achieved = [one for one in history.achieved if one not in undone and one not in replaced]
    achieved.extend(claim.sentence for claim in effect.claims)
    moved = changes.changed and (changes.whole_page or action.kind is Kind.SCROLL)
    places = [] if moved else [c for c in history.claims if c.sentence not in undone | replaced]
    places.extend(claim for claim in effect.claims if claim.sort in _STATES)
    return replace(history, achieved=tuple(achieved[-ACHIEVED_KEPT:]), claims=tuple(places[-ACHIEVED_KEPT:]))


def _undone(claim: Claim, changes: Difference, action: Action, after: Pixels) -> bool:
    """Whether the screen denies a claim: its place changed by itself, by more than a click into it would.

    A change that reaches far beyond the place lies over it (a menu, a dialog), unless the place is empty afterwards.
    The focus is where it was only as long as nothing but typing happened.
    """
    if claim.sort is Sort.FOCUSED:
        return changes.changed and action.kind is not Kind.TYPE
    if claim.box is None or changes.whole_page or changes.share_within(claim.box) < 0.02:
        return False
    over = [region for region in changes.regions if _overlap(region, claim.box)]
    if over and max(map(area, over)) > _COVERS * area(claim.box) and not _is_empty(after, claim.box):
        return False
    if claim.sort in (Sort.TYPED, Sort.HIDDEN):
        return not (action.kind in CLICKS and action.point is not None and holds(claim.box, action.point))
    return True


def _overlap(one: Box, other: Box) -> bool:
    left, top = max(one[0], other[0]), max(one[1], other[1])
    return min(one[0] + one[2], other[0] + other[2]) > left and min(one[1] + one[3], other[1] + other[3]) > top


def _is_empty(image: Pixels, box: Box) -> bool:
    """Whether nothing stands in a box any more, as in a field that was cleared."""
    part = crop(image, box)
    return not part.size or float(part.mean(axis=2).std()) < _PLAIN


def _line(sentence: str) -> str:
    """A sentence of whatever historian, without what could speak for somebody else."""
    return " ".join(unmarked(sentence).split())


def text_for_prompt(history: History) -> str:
    """The history as a few lines for an agent's prompt; empty before the first step."""
    if history.count == 0:
        return ""
    lines = ["Achieved so far, as the screen shows:"]
    lines += [f"- {_line(one)}" for one in history.achieved] or ["- nothing that the screen confirms"]
    if history.effect:
        lines.append(f"Visible effect of the last action: {_line(history.effect)}.")
    stalled = 0
    for step in reversed(history.steps):
        if step.changed or step.action.kind in (TEXTS - {Kind.TYPE}) | {Kind.TERMINATE}:
            break
        stalled += 1
    if stalled >= _STALLED_FROM:
        lines.append(f"The last {stalled} actions changed nothing on the screen.")
    if any(map(has_quotes, lines)):
        lines.append(NOTICE)
    return "\n".join(lines)
