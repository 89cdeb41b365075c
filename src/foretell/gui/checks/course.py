"""Checks against the history: the same again, in circles, one small key after another, a wrong time to stop."""

from __future__ import annotations

import re
from collections.abc import Iterable

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.checks.finding import Case, Finding, named
from foretell.gui.history import Step
from foretell.gui.judgement import ErrorClass

_REPEATED = {Kind.TYPE: ErrorClass.PREREQUISITE, Kind.SCROLL: ErrorClass.VECTOR, Kind.DRAG: ErrorClass.VECTOR}
_REPEATED |= dict.fromkeys(CLICKS, ErrorClass.GROUNDING)
_LASTING = frozenset((Kind.ANSWER, Kind.TERMINATE))
_STEADY_KEYS = 3  # presses of one key in a row, after which one more is worth a word
_SMALL_SCROLL_SHARE = 0.25
_ASKS = re.compile(
    r"^\W*(?:please\s+)?(?:what|which|who|whom|whose|where|why|how|count|find out|tell me|report|answer|determine|"
    r"look up|name the|give me|list the)\b|\b(?:find out|tell me|report back|answer the question)\b|\?\s*$",
    re.IGNORECASE,
)
_REQUESTS = re.compile(r"^\W*(?:can|could|would|will) you\b", re.IGNORECASE)


def repeated(case: Case) -> Iterable[Finding]:
    """The same action again, with a screen that has not changed since."""
    action = case.first
    if action is None or action.kind in _LASTING or case.last_step is None:
        return
    still: list[Step] = []
    for step in reversed(case.history.steps):
        if step.changed:
            break
        still.append(step)
    tries = [step for step in still if case.alike(step.action, action)]
    if tries:
        strength = _strength_again(action, len(tries))
        same = case.on_this_screen(tries[0])
        kind = _REPEATED.get(action.kind, ErrorClass.SUBOPTIMAL)
        often = "once" if len(tries) == 1 else f"{len(tries)} times"
        sentence = f"The same {named(action)} was done {often} before, and the screen has not changed since."
        yield Finding(kind, strength if same else 0.7 * strength, sentence, "repeated")
    elif case.alike(case.last_step.action, action) and action.kind in CLICKS | {Kind.TYPE}:
        typed = action.kind is Kind.TYPE
        sentence = f"The last action was the same {named(action)}, and it did change the screen."
        yield Finding(ErrorClass.SUBOPTIMAL, 0.6 if typed else 0.25, sentence, "repeated")


def _strength_again(action: Action, tries: int) -> float:
    if action.kind is Kind.WAIT:
        return min(0.3 + 0.15 * (tries - 1), 0.6)
    if action.kind in (Kind.KEY, Kind.MOVE):
        return min(0.6 + 0.1 * (tries - 1), 0.8)
    return min(0.85 + 0.05 * (tries - 1), 0.95)


def circling(case: Case) -> Iterable[Finding]:
    """The screen is one that was seen before, and the same was done there; or two actions take turns."""
    action, steps = case.first, case.history.steps
    if action is None or action.kind in _LASTING | {Kind.WAIT}:
        return
    alike = [i for i, step in enumerate(steps) if step.changed and case.alike(step.action, action)]
    seen = [i for i in alike if case.on_this_screen(steps[i])]
    if seen:
        strength = 0.6 if len(seen) == 1 else 0.85
        if action.kind is Kind.MOVE:
            strength /= 2  # what a pointer shows it also hides again
        back = len(steps) - seen[-1]
        sentence = f"The screen is back to what it was {back} steps ago, where the same {named(action)} was done."
        yield Finding(ErrorClass.SUBOPTIMAL, strength, sentence, "circling")
    elif len(steps) >= 3 and action.kind in CLICKS and len(steps) - 2 in alike:
        other, first = steps[-1].action, steps[-3].action
        if other.kind in CLICKS and case.alike(other, first) and not case.alike(other, action):
            sentence = f"The {named(other)} and the {named(action)} have been taking turns."
            yield Finding(ErrorClass.SUBOPTIMAL, 0.4, sentence, "circling")


def continued(case: Case) -> Iterable[Finding]:
    """Typing where something was typed just before, with nothing in between that would move the focus."""
    action, last = case.first, case.last_step
    if action is None or last is None or action.kind is not Kind.TYPE or action.point is not None:
        return
    before = last.action.text or ""
    if last.action.kind is Kind.TYPE and last.changed and before != action.text and not before.endswith(("\n", "\t")):
        sentence = "The last action typed a text, and nothing has moved the focus since: this one would be added to it."
        yield Finding(ErrorClass.PREREQUISITE, 0.45, sentence, "continued")


def pressing(case: Case) -> Iterable[Finding]:
    """One key, one letter or one small scroll at a time, over and over."""
    action = case.first
    if action is None:
        return
    count = 0
    for step in reversed(case.history.steps):
        if not _goes_on(case, step.action, action):
            break
        count += 1
    if count >= _STEADY_KEYS:
        what = (
            "small scrolls the same way" if action.kind is Kind.SCROLL else f"single {action.kind.value} actions alike"
        )
        sentence = f"There were {count} {what} in a row, and this is one more."
        yield Finding(ErrorClass.SUBOPTIMAL, min(0.3 + 0.05 * (count - _STEADY_KEYS), 0.6), sentence, "pressing")


def _goes_on(case: Case, before: Action, now: Action) -> bool:
    if before.kind is not now.kind:
        return False
    if now.kind is Kind.TYPE:
        return len(now.text or "") == 1 == len(before.text or "")
    if now.kind is Kind.SCROLL:
        height = case.observation.size[1]
        small = max(abs(one.dy) for one in (before, now)) < height * _SMALL_SCROLL_SHARE
        return small and before.dy * now.dy > 0
    return now.kind is Kind.KEY and now.keys == before.keys


def ending(case: Case) -> Iterable[Finding]:
    """Stopping before anything was done, without the answer that was asked for, or not stopping after stopping."""
    actions, history = case.proposal.actions, case.history
    stops = [i for i, action in enumerate(actions) if action.kind is Kind.TERMINATE]
    if not stops:
        return
    stop = actions[stops[0]]
    if stops[0] < len(actions) - 1:
        yield Finding(ErrorClass.TERMINATION, 0.8, "The proposal goes on after it ends the task.", "ending")
    if stop.success is False:
        return
    earlier = [*(step.action for step in history.steps), *actions[: stops[0]]]
    answered = bool(stop.text) or any(action.kind is Kind.ANSWER for action in earlier)
    if _ASKS.search(case.goal) and not _REQUESTS.search(case.goal) and not answered:
        sentence = "The goal asks a question, and the task is ended without an answer."
        yield Finding(ErrorClass.TERMINATION, 0.75, sentence, "ending")
    acted = [action for action in earlier if action.kind not in (Kind.WAIT, Kind.MOVE)]
    if not acted and not answered and history.count <= len(history.steps):
        yield Finding(ErrorClass.TERMINATION, 0.7, "The task is ended before anything was done.", "ending")
    elif case.last_step is not None and not case.last_step.changed and case.last_step.action.kind is not Kind.ANSWER:
        sentence = f"Success is claimed, but the last action, {named(case.last_step.action)}, changed nothing."
        yield Finding(ErrorClass.TERMINATION, 0.35, sentence, "ending")
