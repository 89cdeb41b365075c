"""Actions that cannot be taken back (send, delete, pay, overwrite): they pass at a lower error probability only.

What counts is the label under the point and what the agent says it does. A word of that kind in the goal alone makes no
action final: most steps towards sending a mail are harmless.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.batch import intents
from foretell.gui.evidence import Evidence
from foretell.gui.final_intents import drags_to_delete, edits_text, names_final, says_final, says_final_in_part
from foretell.gui.final_labels import is_final_label
from foretell.gui.observation import Observation, Proposal
from foretell.gui.parse.keys import MODIFIERS, usual

__all__ = ["EVIDENCE", "RiskTier", "is_final", "is_final_label", "is_final_on_page", "points_at", "presses"]

EVIDENCE = "irreversible"  # the name under which critics report that the label under the point is final
MOST_P_BAD = 0.5
CLICK_PX = 10.0  # a drag that ends as near to where it began is a click
_ACTIVATES = frozenset(("enter", "space"))  # keys that press what has the focus
_DELETES = frozenset(("delete", "backspace"))
_FOR_GOOD = frozenset(("shift", "delete"))  # pressed together they delete without a bin
_WANDERS = frozenset(("tab", "esc", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "menu"))
_HARMLESS = frozenset("acvxzyfltkn")  # with ctrl: select, copy, paste, undo, find, open
_TYPES = ("type", "typing", "enter", "write", "fill", "input", "insert", "paste", "set", "search", "put")

Confirm = Callable[[Observation, Proposal], bool]


@dataclass(frozen=True)
class RiskTier:
    """What an irreversible action needs to pass: P(bad) of at most `most_p_bad`, or a yes from `confirm`.

    `confirm` asks whoever is responsible, and is given the observation and the proposal. Without it an agent may
    confirm a doubtful action by proposing it again, as long as it stays below the guard's ordinary threshold.
    """

    most_p_bad: float = MOST_P_BAD
    confirm: Confirm | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.most_p_bad <= 1.0:
            raise ValueError(f"most_p_bad is a probability from 0 to 1, got {self.most_p_bad!r}")


def is_final(proposal: Proposal, evidence: Evidence | None = None) -> bool:
    """Whether any action of a proposal sends, deletes, pays or overwrites, by what the agent or the page says of it."""
    said = intents(proposal)
    if any(_is_said(action, intent) for action, intent in zip(proposal.actions, said, strict=True)):
        return True
    if evidence is not None and any(is_final_on_page(action, evidence) for action in proposal.actions):
        return True
    # An intent that has no clause for each action may speak of any of them.
    shared = proposal.intent is not None and len(proposal.actions) > 1 and proposal.intent in said
    return shared and any(map(presses, proposal.actions)) and says_final_in_part(proposal.intent or "")


def is_final_on_page(action: Action, evidence: Evidence) -> bool:
    """Whether the page calls what an action presses, by its point or by the focus, something irreversible."""
    here = None
    if points_at(action):
        here = evidence.at.get(action.point) if action.point is not None else None
    elif action.kind is Kind.KEY and _ACTIVATES & _keys(action):
        here = evidence.focused
    return here is not None and not here.editable and is_final_label(here.name)


def presses(action: Action) -> bool:
    """Whether an action presses something: a control, or a key that does more than to wander or to copy."""
    if points_at(action):
        return True
    if action.kind is Kind.TYPE:
        return _submits(action)
    if action.kind is not Kind.KEY:
        return False
    keys = _keys(action)
    if keys & (_ACTIVATES | _DELETES):
        return True
    others = keys - MODIFIERS
    return bool(others) and others.isdisjoint(_WANDERS) and not (keys & {"ctrl", "meta"} and others <= _HARMLESS)


def points_at(action: Action) -> bool:
    """Whether an action clicks at its point, also where it types there afterwards or drags nothing far."""
    if action.point is None:
        return False
    if action.kind is Kind.DRAG:
        return (
            action.to is not None
            and math.dist((action.point.x, action.point.y), (action.to.x, action.to.y)) <= CLICK_PX
        )
    return action.kind in CLICKS or action.kind is Kind.TYPE


def _is_said(action: Action, intent: str | None) -> bool:
    """Whether an agent says of one action that it cannot be taken back."""
    keys = _keys(action) if action.kind is Kind.KEY else frozenset[str]()
    if keys >= _FOR_GOOD:
        return True
    if not intent:
        return False
    if action.kind is Kind.DRAG and not points_at(action):
        return drags_to_delete(intent)
    if not presses(action):
        return False
    if action.kind is Kind.TYPE:
        return _is_typing_final(action, intent)
    if keys & _DELETES and edits_text(intent):
        return False
    return says_final(intent)


def _is_typing_final(action: Action, intent: str) -> bool:
    """Whether a text that is typed is sent off for good; the text itself says nothing of that."""
    text = (action.text or "").strip()
    said = intent.replace(text, " ") if len(text) > 1 else intent
    if not _submits(action):
        return not said.lower().strip().startswith(_TYPES) and names_final(said)
    return says_final(said)


def _submits(action: Action) -> bool:
    return "\n" in (action.text or "") or "\r" in (action.text or "")


def _keys(action: Action) -> frozenset[str]:
    return frozenset(map(usual, action.keys))
