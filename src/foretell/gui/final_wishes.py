"""Detects which irreversible actions a text asks for in everyday words: "has to go" is a deletion. Pure functions.

Only for goals, buttons and intents in English; elsewhere nothing is known, and an irreversible press stays held back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foretell.gui.meaning import meaning

NO_LONGER = r"(?:not|n['’]t|nor|never|no)\b[^.;!?]{0,60}?\b(?:any ?more|any longer)"
_WISHES = {
    "remove": r"delet\w*|remov(?:e[sd]?|ing|al)|eras\w+|trash\w*|discard\w*|purg\w+|wip(?:e[sd]?|ing)|"
    r"(?:throw|throws|thrown|threw|toss|chuck|put|kick)\b[^.;!?]{0,80}?\b(?:away|out|in the (?:bin|trash))|"
    r"(?:strike|strikes|struck|cross|crossed)\b[^.;!?]{0,60}?\b(?:off|out|from)|no longer|"
    rf"{NO_LONGER}|"
    r"(?:get|gets|got|getting) rid of|(?:has|have|had|need|needs|must|should|can|may|could|ought)(?: to)? (?:go|vanish|"
    r"disappear|be gone|be dropped)|vanish\w*|clean(?:s|ed)? (?:up|out)|clear(?:s|ed|ing)? out|"
    r"(?:take|takes|taken)\b[^.;!?]{0,40}?\b(?:off|away|down)|drop(?:s|ped)?|empt(?:y|ied|ies)|uninstall\w*",
    "send": r"sen[dt]s?|mail(?:s|ed)?|e-?mail(?:s|ed)?|writ(?:e|es|ten)|wrote|answer\w*|repl(?:y|ies|ied)|tell\w*|told|"
    r"forward\w*|let\b[^.;!?]{0,40}?\bknow|shar(?:e[sd]?|ing)|invit\w+|messag\w+|say\w*|said|ask\w*|notif\w+|"
    r"inform\w*|thank\w*|submit\w*|post\w*|comment\w*",
    "publish": r"publish\w*|post\w*|releas\w+|announc(?:e[sd]?|ing)|online|public|live|comment\w*|say\w*|tell\w*",
    "pay": r"pa(?:y|ys|id|ying)|payment|bu(?:y|ys|ying)|bought|order\w*|purchas\w+|settl\w+|book(?:s|ed|ing)?|"
    r"check ?out|transfer\w*|donat\w+|wire\w*",
    "overwrite": r"overwr\w+|replac\w+|restor\w+|reset\w*|rever\w+|roll\w*\b[^.;!?]{0,40}?\bback|wrote over|"
    r"write over|back to",
}
_KNOWN = {sort: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for sort, words in _WISHES.items()}
_FOR_GOOD = re.compile(
    r"\b(?:for good|for ever|forever|altogether|completely|entirely|permanently|once and for all)\b", re.IGNORECASE
)
_POINTS_BACK = re.compile(r"\b(?:it|its|this|that|these|those|them|him|her)\b", re.IGNORECASE)
_CLAUSES = re.compile(r"[.;!?\n]+|,?\s+\b(?:and|then|but|so|because)\b\s+|,\s+")


def wishes(text: str) -> frozenset[str]:
    """The sorts of irreversible things that a text speaks of."""
    return frozenset(sort for sort, known in _KNOWN.items() if known.search(text))


def wished(goal: str, sorts: frozenset[str]) -> Iterator[str]:
    """Yields the objects of a goal's irreversible actions: each clause that asks for one, without its verb.

    The rest of the goal is yielded too where a clause has no object ("then delete it") or refers back ("throw that
    request away").
    """
    for clause in _CLAUSES.split(goal):
        if any(_KNOWN[sort].search(clause) for sort in sorts):
            rest = _without(clause, sorts)
            if meaning(rest):
                yield rest
            if not meaning(rest) or _POINTS_BACK.search(rest):
                yield _without(goal, sorts)


def _object(found: re.Match[str]) -> str:
    """Returns the object inside a two-part verb: "the advert" of "throw the advert away"."""
    return f" {' '.join(found.group().split()[1:-1])} "


def _without(text: str, sorts: frozenset[str]) -> str:
    for sort in sorts:
        text = _KNOWN[sort].sub(_object, text)
    return _FOR_GOOD.sub(" ", text)
