"""Typing without evidence that anything has the focus."""

from __future__ import annotations

from collections.abc import Iterable

from foretell.gui.actions import CLICKS, Kind
from foretell.gui.checks.finding import Case, Finding
from foretell.gui.checks.screens import caret, focus_ring
from foretell.gui.judgement import ErrorClass

_PASSED_OVER = frozenset((Kind.WAIT, Kind.MOVE, Kind.SCROLL))
_NEW_PAGE = frozenset((Kind.NAVIGATE, Kind.OPEN, Kind.BACK, Kind.HOME))
_NEVER, _NO_EFFECT, _TYPED = "never", "no effect", "typed"
_SAID = {
    _NEVER: (0.7, "Nothing has been clicked"),
    _NO_EFFECT: (0.35, "The last click changed nothing"),
    _TYPED: (0.6, "What was typed last did not appear"),
}


def unfocused(case: Case) -> Iterable[Finding]:
    """The first action types, no step before it gave the focus, and the pixels show neither caret nor focus ring."""
    action = case.first
    if action is None or action.kind is not Kind.TYPE or action.point is not None:
        return
    state = _state(case)
    if state is None or focus_ring(case.observation.image) is not None or caret(case.observation.image):
        return
    strength, said = _SAID[state]
    if state == _NEVER and (case.observation.platform == "desktop" or case.history.count > len(case.history.steps)):
        strength /= 2  # desktop windows often have the focus when they open; early steps may be forgotten
    sentence = f"{said}, and no caret or focus ring is seen where a text could go."
    yield Finding(ErrorClass.PREREQUISITE, strength, sentence, "unfocused")


def _state(case: Case) -> str | None:
    """Why the history gives no evidence of focus; None where it does."""
    for step in reversed(case.history.steps):
        kind = step.action.kind
        if kind in _PASSED_OVER:
            continue
        if kind in _NEW_PAGE:
            return _NEVER
        if kind is Kind.KEY and not step.changed and "tab" not in step.action.keys:
            continue
        if step.changed or kind is Kind.KEY:
            return None
        if kind is Kind.TYPE:
            return _TYPED
        if kind in CLICKS:
            return _NO_EFFECT
    return _NEVER
