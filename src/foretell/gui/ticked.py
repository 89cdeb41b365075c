"""Whether a box or a switch is on or off already as an intent wants it: pressing it would do the opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from foretell.gui.evidence import ElementAt
from foretell.gui.meaning import match, meaning
from foretell.gui.quoting import quoted
from foretell.gui.wording import folded, word_list

_MARK = r"(?:the |a |its |this |that )?(?:tick|check(?: ?mark)?|mark|cross)\b"
_BE = r"\b(?:is|are|be|stays?|remains?|gets?|make it|set it)(?: to)?"
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
_STATE_NAMES = frozenset(word_list("enabled active activated on"))  # of boxes that say nothing else


def as_wanted(here: ElementAt, seen: Sequence[ElementAt], intent: str) -> str:
    """A sentence where what is pressed is on or off already as wanted; a label has the state of the box of its name."""
    checked = here.checked
    if checked is None and here.role.lower() == "label" and here.name:
        boxes = [one for one in seen if one.checked is not None and one.name == here.name]
        checked = boxes[0].checked if len(boxes) == 1 else None
    off = _OFF.search(intent) is not None
    on = _ON.search(_OFF.sub(" ", intent)) is not None
    if checked is None or on is off or checked is not on:
        return ""
    called = here.name or here.context
    is_meant = match(called, meaning(intent)).said or _THE_BOX.search(intent) or folded(called) in _STATE_NAMES
    return f"{quoted(called)} is {'on' if on else 'off'} already." if is_meant else ""
