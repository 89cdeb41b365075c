"""Whether a box or a switch is on or off already as an intent wants it: pressing it would do the opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from foretell.gui.actions import Point
from foretell.gui.evidence import ElementAt
from foretell.gui.meaning import match, meaning
from foretell.gui.quoting import quoted
from foretell.gui.sight import Sight
from foretell.gui.wording import folded, word_list

_MARK = r"(?:the |a |its |this |that )?(?:tick|check(?: ?mark)?|mark|cross)\b"
_BE = (  # as it is to be: "the box that is ticked" says what is, "make sure that it is ticked" what is wanted
    r"(?:\b(?:so|sure|ensure|until)\b[^.;]*?\b(?:is|are|be|stays?|remains?|gets?)|\b(?:make|set|keep) it(?: to)?)"
)
_STATE = r"(?:switched on|turned on|enabled|active|activated|ticked|checked)\b"
_OFF = re.compile(
    rf"{_BE} (?:no longer|not|un(?=ticked|checked)|in(?=active)) ?{_STATE}|"
    rf"{_BE} (?:switched off|turned off|disabled)\b|"
    rf"\b(?:(?:un|de)(?:tick|check|select)|switch off|turn off|disable|deactivate)\b|\b(?:switch|turn)\b.*\boff\b|"
    rf"\b(?:clear|remove|delete|drop|take (?:out|off|away)|get rid of) {_MARK}|"
    rf"\b(?:take|clear|get) {_MARK}.*\b(?:out|off|away|from)\b",
    re.IGNORECASE,
)
_ON = re.compile(
    rf"{_BE} {_STATE}|"
    rf"\b(?:tick|check|switch on|turn on|enable|activate)\b|\b(?:switch|turn)\b.*\bon\b|"
    rf"\b(?:set|put|place|add|make) {_MARK}",
    re.IGNORECASE,
)
_THE_BOX = re.compile(
    r"\b(?:tick|check|select|clear|(?:un|de)(?:tick|check|select)) (?:the|this|that|its) (?:check ?)?box\b"
    r"(?! (?:of|for|in|at|with|beside|next)\b)",
    re.IGNORECASE,
)  # the one that is pressed, and no other is named
_LEAST_BOX_PX, _MOST_BOX_PX, _UNEVEN_PX = 10, 32, 3
_STRONG, _BRIGHT = 80, 200  # of 255: how far the channels of an accent colour are apart, and each of a tick
_FILLED_SHARE, _TICK_SHARE = 0.5, 0.05
_STATE_NAMES = frozenset(word_list("enabled active activated on"))  # of boxes that say nothing else


def as_wanted(here: ElementAt, seen: Sequence[ElementAt], intent: str, sight: Sight, point: Point | None) -> str:
    """A sentence where what is pressed is on or off already as wanted; empty where it is not, or that is not known.

    A label has the state of the only box of its name; one without a name may be drawn as a box with a tick in it.
    """
    checked = here.checked
    if checked is None and here.role.lower() == "label":
        boxes = [one for one in seen if one.checked is not None and one.name == here.name] if here.name else []
        checked = boxes[0].checked if len(boxes) == 1 else None
        if not here.name and point is not None and _is_drawn_ticked(sight, point):
            checked = True
    off = _OFF.search(intent) is not None
    on = _ON.search(_OFF.sub(" ", intent)) is not None
    if checked is None or on is off or checked is not on:
        return ""
    called = here.name or here.context
    is_meant = match(called, meaning(intent)).said or _THE_BOX.search(intent) or folded(called) in _STATE_NAMES
    return f"{quoted(called)} is {'on' if on else 'off'} already." if is_meant else ""


def _is_drawn_ticked(sight: Sight, point: Point) -> bool:
    """Whether a small square of a strong colour with something bright in it is drawn at a point."""
    place = sight.places.under(point.x, point.y)
    if place is None:
        return False
    x, y, width, height = place.box
    if not all(_LEAST_BOX_PX <= side <= _MOST_BOX_PX for side in (width, height)) or abs(width - height) > _UNEVEN_PX:
        return False
    edge = width // 5
    inside = sight.image[y + edge : y + height - edge, x + edge : x + width - edge].astype(np.int16)
    most, least = inside.max(axis=2), inside.min(axis=2)
    is_filled = float((most - least > _STRONG).mean()) >= _FILLED_SHARE
    return is_filled and float((least > _BRIGHT).mean()) >= _TICK_SHARE
