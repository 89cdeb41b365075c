"""Actions that cannot be taken back (send, delete, pay, overwrite): they pass at a lower error probability only.

What counts is the label under the point and what the agent says it does. A word of that kind in the goal alone makes no
action final: most steps towards sending a mail are harmless.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.evidence import Evidence
from foretell.gui.final_intents import drags_to_delete, edits_text, names_final, says_final, says_final_in_part
from foretell.gui.final_labels import is_final_label
from foretell.gui.observation import Observation, Proposal
from foretell.gui.parse.keys import MODIFIERS, usual

__all__ = ["EVIDENCE", "RiskTier", "is_final", "is_final_label", "is_final_on_page", "points_at", "presses"]

EVIDENCE = "irreversible"  # the name under which critics report that the label under the point is final
MOST_P_BAD = 0.5
CLICK_PX = 30.0  # a drag that ends as near to where it began may stay on one button, and is a click of it
_TEXT_ROLES = frozenset(("textbox", "searchbox", "text", "search", "email", "url", "tel", "number"))
_ACTIVATES = frozenset(("enter", "space"))  # keys that press what has the focus
_DELETES = frozenset(("delete", "backspace"))
_FOR_GOOD = frozenset(("shift", "delete"))  # pressed together they delete without a bin
_WANDERS = frozenset(("tab", "esc", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "menu"))
_HARMLESS = frozenset("acvxzyfltkn")  # with ctrl: select, copy, paste, undo, find, open

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
    """Whether any action of a proposal sends, deletes, pays or overwrites, by what the agent or the page says of it.

    What an intent says of a batch may be said of any of its actions.
    """
    batch = len(proposal.actions) > 1
    if evidence is not None and not batch and all(_selects_text(action, evidence) for action in proposal.actions):
        return False  # "select the name to replace it"
    return any(
        _is_said(action, proposal.intent, batch) or (evidence is not None and is_final_on_page(action, evidence))
        for action in proposal.actions
    )


def _selects_text(action: Action, evidence: Evidence) -> bool:
    """Whether an action selects text in a field of the page, whatever is to become of it afterwards."""
    here = evidence.at.get(action.point) if action.point is not None else None
    selects = action.kind in (Kind.DOUBLE_CLICK, Kind.TRIPLE_CLICK)
    return selects and here is not None and here.editable and here.role in _TEXT_ROLES


def is_final_on_page(action: Action, evidence: Evidence) -> bool:
    """Whether the page calls what an action presses, by its point or by the focus, something irreversible."""
    here = None
    if action.point is not None and (points_at(action) or _stays_on_element(action, evidence)):
        here = evidence.at.get(action.point)
    elif _presses_focus(action):
        here = evidence.focused
    return here is not None and not here.editable and is_final_label(here.name)


def presses(action: Action) -> bool:
    """Whether an action presses something: a control, or a key that does more than to wander or to copy."""
    if points_at(action):
        return True
    if action.kind is Kind.TYPE:
        return _submits(action) or _is_blank(action)
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


def _is_said(action: Action, intent: str | None, batch: bool) -> bool:
    """Whether an agent says of one action that it cannot be taken back."""
    keys = _keys(action) if action.kind is Kind.KEY else frozenset[str]()
    if keys >= _FOR_GOOD:
        return True
    if not intent:
        return False
    says = says_final_in_part if batch else says_final
    if action.kind is Kind.DRAG and not points_at(action):
        return drags_to_delete(intent)
    if action.kind is Kind.TYPE:
        return _is_typing_final(action, intent, says)
    if keys & _DELETES and edits_text(intent):
        return False
    return (presses(action) or action.kind in (Kind.KEY, Kind.NAVIGATE)) and says(intent)


def _is_typing_final(action: Action, intent: str, says: Callable[[str], bool]) -> bool:
    """Whether a text that is typed is sent off for good; the text itself says nothing of that."""
    text = (action.text or "").strip()
    said = intent.replace(text, " ") if len(text) > 1 else intent
    if _submits(action) or _is_blank(action):
        return says(said)
    return names_final(said)


def _presses_focus(action: Action) -> bool:
    """Whether an action presses what has the focus where that is a button: by a key, or by a blank in a text."""
    if action.kind is Kind.KEY:
        return bool(_ACTIVATES & _keys(action))
    return action.kind is Kind.TYPE and action.point is None and any(c.isspace() for c in action.text or "")


def _stays_on_element(action: Action, evidence: Evidence) -> bool:
    """Whether a drag ends on the element that it began on."""
    if action.kind is not Kind.DRAG or action.point is None or action.to is None:
        return False
    here = evidence.at.get(action.point)
    return here is not None and bool(here.name) and here == evidence.at.get(action.to)


def _is_blank(action: Action) -> bool:
    return bool(action.text) and not (action.text or "").strip()


def _submits(action: Action) -> bool:
    return "\n" in (action.text or "") or "\r" in (action.text or "")


def _keys(action: Action) -> frozenset[str]:
    return frozenset(map(usual, action.keys))
