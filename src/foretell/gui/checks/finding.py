"""What a check is given and what it says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.checks.screens import COARSE, coarse_digest, digest
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Proposal

_NEAR_SHARE, _LEAST_NEAR_PX = 0.01, 4.0  # points nearer than this, of the shorter side, are the same

_MOST_CHARACTERS = 2000  # of a goal or an intent that are looked at


@dataclass(frozen=True)
class Finding:
    """One thing that speaks against a proposal.

    `strength`, 0 to 1, is how sure this alone makes it that the proposal is wrong. The sentence says what is seen, and
    never shows what was to be typed. `check` is the name of the check, the same for all its findings.
    """

    error: ErrorClass
    strength: float
    sentence: str
    check: str = ""


@dataclass(frozen=True, eq=False)
class Case:
    """A proposal on its screen with its history; what several checks need is worked out once."""

    observation: Observation
    proposal: Proposal
    history: History

    @property
    def goal(self) -> str:
        return self.observation.goal[:_MOST_CHARACTERS]

    @property
    def intent(self) -> str:
        """What the agent says it does; empty where it says nothing."""
        return (self.proposal.intent or "")[:_MOST_CHARACTERS]

    @property
    def first(self) -> Action | None:
        return self.proposal.actions[0] if self.proposal.actions else None

    @property
    def last_step(self) -> Step | None:
        return self.history.steps[-1] if self.history.steps else None

    @cached_property
    def _digest(self) -> str:
        return digest(self.observation.image)

    @cached_property
    def _coarse(self) -> str:
        return coarse_digest(self.observation.image)

    def on_this_screen(self, step: Step) -> bool:
        """Whether the step was taken on a screen like the present one, by the kind of digest that it carries."""
        return step.screen == (self._coarse if step.screen.startswith(COARSE) else self._digest)

    @cached_property
    def near_px(self) -> float:
        return max(_LEAST_NEAR_PX, min(self.observation.size) * _NEAR_SHARE)

    def alike(self, one: Action, other: Action) -> bool:
        """Whether two actions are the same but for a few pixels."""
        same = (one.kind, one.text, one.keys) == (other.kind, other.text, other.keys)
        if one.kind is Kind.SCROLL:
            same = same and _sign(one.dx) == _sign(other.dx) and _sign(one.dy) == _sign(other.dy)
        return same and self._near(one.point, other.point) and self._near(one.to, other.to)

    def _near(self, one: Point | None, other: Point | None) -> bool:
        if one is None or other is None:
            return one is other
        return abs(one.x - other.x) <= self.near_px and abs(one.y - other.y) <= self.near_px


class Check(Protocol):
    """Finds something, or nothing. Pure, and never raises on a well-typed case."""

    def __call__(self, case: Case) -> Iterable[Finding]: ...


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def shown(point: Point) -> str:
    return f"({point.x:.0f}, {point.y:.0f})"


def named(action: Action) -> str:
    """An action in words, without what it types."""
    where = f" at {shown(action.point)}" if action.point is not None else ""
    what = f" {'+'.join(action.keys)}" if action.kind is Kind.KEY else ""
    return f"{action.kind.value.replace('_', ' ')}{what}{where}"
