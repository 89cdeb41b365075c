"""Checks of the proposal by itself: can it be read and carried out, is it on the screen, is it large enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from foretell.gui.actions import ALLOWED, POINTED, TEXTS, Action, Kind
from foretell.gui.checks.finding import Case, Finding, named, shown
from foretell.gui.judgement import ErrorClass
from foretell.gui.parse.faults import Reason
from foretell.gui.parse.keys import is_known, usual

_FAULT_STRENGTH = {Reason.UNSUPPORTED: 0.2, Reason.AMBIGUOUS: 0.3}  # not, or perhaps not, the agent's doing
_LEAST_SCROLL_SHARE, _LEAST_SCROLL_PX = 0.03, 20.0
_LEAST_DRAG_PX = 4.0


def formulation(case: Case) -> Iterable[Finding]:
    """What could not be read, lacks a field, or is of a kind that the platform does not have."""
    proposal = case.proposal
    if proposal.fault is not None:
        strengths = [least for reason, least in _FAULT_STRENGTH.items() if proposal.fault.startswith(reason)]
        sentence = f"The proposal could not be read ({proposal.fault})."
        yield Finding(ErrorClass.FORMULATION, strengths[0] if strengths else 0.95, sentence, "formulation")
        return
    if not proposal.actions:
        yield Finding(ErrorClass.FORMULATION, 0.9, "The proposal holds no action.", "formulation")
    platform = case.observation.platform
    for action in proposal.actions:
        for lack in _lacks(action):
            sentence = f"The {named(action)} has no {lack}."
            yield Finding(ErrorClass.FORMULATION, 0.95, sentence, "formulation")
        if action.kind not in ALLOWED[platform]:
            sentence = f"There is no {action.kind.value.replace('_', ' ')} on this platform ({platform})."
            yield Finding(ErrorClass.FORMULATION, 0.9, sentence, "formulation")
        if not all(is_known(usual(key)) for key in action.keys):
            yield Finding(ErrorClass.FORMULATION, 0.5, f"{named(action)}: there is no such key.", "formulation")


def _lacks(action: Action) -> Iterator[str]:
    if action.kind in POINTED and action.point is None:
        yield "point"
    if action.kind is Kind.DRAG and action.to is None:
        yield "point to end at"
    if action.kind in TEXTS and not action.text:
        yield "text"
    if action.kind is Kind.KEY and not action.keys:
        yield "keys"
    if action.kind is Kind.SCROLL and not (action.dx or action.dy):
        yield "distance"


def out_of_bounds(case: Case) -> Iterable[Finding]:
    """A point that does not lie on the screenshot cannot be pressed."""
    width, height = case.observation.size
    for action in case.proposal.actions:
        for point in (action.point, action.to):
            if point is None or point.inside(width, height):
                continue
            where = shown(point) if math.isfinite(point.x) and math.isfinite(point.y) else "nowhere"
            sentence = (
                f"The {action.kind.value.replace('_', ' ')} goes to {where}, outside the {width} by {height} screen."
            )
            yield Finding(ErrorClass.FORMULATION, 0.97, sentence, "out_of_bounds")


def too_small(case: Case) -> Iterable[Finding]:
    """A scroll or a drag of next to nothing."""
    width, height = case.observation.size
    for action in case.proposal.actions:
        if action.kind is Kind.SCROLL:
            extent, moved = (height, abs(action.dy)) if action.dy else (width, abs(action.dx))
            if 0 < moved < min(_LEAST_SCROLL_PX, extent * _LEAST_SCROLL_SHARE):
                sentence = f"The scroll moves the view by {moved:.0f} of {extent} pixels only."
                yield Finding(ErrorClass.VECTOR, 0.6, sentence, "too_small")
        if action.kind is Kind.DRAG and action.point is not None and action.to is not None:
            far = math.hypot(action.to.x - action.point.x, action.to.y - action.point.y)
            if far < _LEAST_DRAG_PX:
                sentence = f"The drag ends where it begins, {far:.0f} pixels away."
                yield Finding(ErrorClass.VECTOR, 0.8, sentence, "too_small")
