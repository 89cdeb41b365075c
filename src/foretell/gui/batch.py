"""A proposal of several actions, taken apart: each is judged by itself, after those before it.

Later actions are judged on the screen at hand as long as nothing before them is likely to change it: after a click into
a field and some typing it is the same page. Behind a scroll, a key that submits or a click on anything else it may be
another, and then only what needs no screen is held against them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.history import History, Step, noted
from foretell.gui.observation import Proposal

_QUIET = frozenset((Kind.TYPE, Kind.WAIT, Kind.MOVE, Kind.ANSWER))
_SUBMITTING = frozenset(("enter", "return"))
_CLAUSES = re.compile(r"\s*(?:[,;]\s*(?:and\s+)?(?:then\s+)?|\s(?:and\s+)?then\s+|\sand\s+)", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """One action as a proposal of its own, with the history as it would be by then.

    `on_screen` says whether the screen at hand is still the one it would act on. `index` is its place in the batch.
    """

    index: int
    proposal: Proposal
    history: History
    on_screen: bool


def parts(proposal: Proposal, history: History, screen: str, stays: Callable[[Action], bool]) -> list[Part]:
    """The actions one by one. `screen` is the digest of the screen; `stays` says of a click that it keeps the page.

    An intent with as many clauses as there are actions is shared out among them. Otherwise it is that of the only
    click, or of the first action; the others have none.
    """
    said = intents(proposal)
    found: list[Part] = []
    on_screen = True
    for index, (action, intent) in enumerate(zip(proposal.actions, said, strict=True)):
        found.append(Part(index, replace(proposal, actions=(action,), intent=intent), history, on_screen))
        history = noted(history, Step(action, screen, changed=True, intent=intent))
        on_screen = on_screen and _keeps_page(action, stays)
    return found


def intents(proposal: Proposal) -> list[str | None]:
    """What is said of each action."""
    actions, intent = proposal.actions, proposal.intent
    if intent is None or len(actions) < 2:
        return [intent] * len(actions)
    short = " ".join(intent.split())  # runs of blanks would be looked through again from each of them
    clauses = [part.strip() for part in _CLAUSES.split(short) if part.strip()]
    if len(clauses) == len(actions):
        return list(clauses)
    clicks = [i for i, action in enumerate(actions) if action.kind in CLICKS]
    own = clicks[0] if len(clicks) == 1 else 0
    return [intent if i == own else None for i in range(len(actions))]


def _keeps_page(action: Action, stays: Callable[[Action], bool]) -> bool:
    if action.kind is Kind.TYPE:
        return not (action.text or "").endswith("\n")
    if action.kind is Kind.KEY:
        return not _SUBMITTING & {key.lower() for key in action.keys}
    return action.kind in _QUIET or (action.kind in CLICKS and stays(action))
