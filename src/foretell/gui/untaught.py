"""Doubts of the models for larger screens that rest on nothing they were taught.

Their recorded proposals were made by a script: goals name every step, and right ones are single clicks, keys, texts,
scrolls, waits and endings. People give goals that leave steps open, and agents click twice, open addresses and go back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.judgement import ErrorClass

MOST_P_BAD = 0.4  # of what is not doubted
GOAL_NAMES = -0.6  # margin from which the goal names something else in view

_NEVER_RIGHT = frozenset(
    (
        Kind.DOUBLE_CLICK,
        Kind.TRIPLE_CLICK,
        Kind.MIDDLE_CLICK,
        Kind.LONG_PRESS,
        Kind.NAVIGATE,
        Kind.OPEN,
        Kind.BACK,
        Kind.HOME,
    )
)  # kinds that no right proposal of the recorded walks has
_SAYS_RIGHT = re.compile(r"\bright[- ]?click|\bcontext menu|\bright (?:mouse )?button", re.IGNORECASE)
_BY_GOAL = frozenset((ErrorClass.SEMANTIC, ErrorClass.TERMINATION, ErrorClass.CONSTRAINT))
_BY_PLACE = frozenset((ErrorClass.GROUNDING, ErrorClass.HALLUCINATION, ErrorClass.MISALIGNMENT))
_GROUND = re.compile(
    r"\b(?:into|in|inside) the (?:\w+ ){0,2}(?:editor|text ?area|canvas|document)\b|"
    r"\binto the (?:big|large) (?:text )?(?:box|field|area)\b",
    re.IGNORECASE,
)
_CALLED_SO = 0.9  # likeness of the intent's words and the label under the point


def is_untaught(
    action: Action,
    intent: str | None,
    named: bool,
    seen: Mapping[str, float],
    error: ErrorClass | None,
    sure: bool = False,
) -> bool:
    """Whether a model's doubt about an action is to be held for ignorance.

    So it is for a click that is `sure`; for a kind of action that no right proposal had, unless its words fit something
    else in view; for a click
    on just what its intent names that is doubted by the goal alone, while the goal names nothing else in view and
    nothing is repeated; and for a click into an editor or on a canvas, whose ground bears no words.

    Args:
        action: What is proposed.
        intent: What the agent says that it does.
        named: Whether the label under the point is the one that the intent names.
        seen: The features that the model read.
        error: The way of being wrong that the model takes for the likeliest.
        sure: Whether it is the only one of that name, or the one in the row that the intent names, and the goal names
            nothing else in view.
    """
    says_right = action.kind is Kind.RIGHT_CLICK and bool(_SAYS_RIGHT.search(intent or ""))
    if action.kind in _NEVER_RIGHT or says_right:
        return sure or not seen.get("at.intent_margin", math.nan) < 0.0  # the words fit something else in view better
    if not intent or action.kind not in CLICKS or seen.get("check.most", 0.0) > 0.0:
        return False
    if sure:
        return True
    if error in _BY_PLACE:
        return _GROUND.search(intent) is not None
    if error not in _BY_GOAL:
        return False
    by_words = seen.get("at.intent_margin", math.nan) >= 0.0 and seen.get("at.intent_here", math.nan) >= _CALLED_SO
    elsewhere = seen.get("at.goal_margin", math.nan) <= GOAL_NAMES
    return (named or by_words) and not elsewhere
