"""Irreversible presses on which intent, page and goal agree: nothing is left to doubt but that they are irreversible.

That is the button of a block that the intent names by the title above it, and the button of a page that asks about the
one thing that the goal names. Only a page that was asked says so; by pixels alone such a press is held back.
"""

from __future__ import annotations

import re

from foretell.gui.actions import CLICKS, Action
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.final_labels import is_final_label
from foretell.gui.lexicon import REFUSE
from foretell.gui.meaning import match, meaning
from foretell.gui.namesakes import overlap, row_names
from foretell.gui.naming import called_by_verb, rows_of
from foretell.gui.sight import Sight
from foretell.gui.wording import alike, folded, part_of, tokens, wording
from foretell.gui.words import Box

_SAME = 0.93
_PRESSED = frozenset(("button", "link", "submit", "menuitem"))
_LABEL_WORDS = 3  # of a button that is pressed for good
_EDGE_PX, _STEP_PX = 4, 8  # what edges of one column, and distances of one layout, may differ by
_PROPER = re.compile(r"(?<=[\s'\"‘“(])[^\W\d_a-z]\w*(?:[ -][^\W\d_a-z]\w*)*")
_SPARES = re.compile(r"\b(?:not|n't|never|keep|except|but|without|instead|rather|other than)\b|n['’]t\b", re.IGNORECASE)


def is_agreed(
    page: Evidence | None, whole: Action, action: Action, intent: str | None, goal: str, sight: Sight
) -> bool:
    """Whether an irreversible click is agreed on; `whole` is the action as the page knows it."""
    if page is None or page.seen is None or whole.point is None or whole.kind not in CLICKS or not intent:
        return False
    here = page.at.get(whole.point)
    if here is None or here.disabled or here.covered_by or here.role.lower() not in _PRESSED:
        return False
    if not 0 < len(tokens(here.name)) <= _LABEL_WORDS or _SPARES.search(f"{goal} {intent}"):
        return False
    return _of_named_block(here, action, intent, goal, sight) or _asks_about_goal(page, here, intent, goal, sight)


def in_block(sight: Sight, action: Action, title: str) -> bool | None:
    """Whether what is pressed stands in the block below a title; None where the screen has no such blocks.

    Blocks are known by their layout: the same button stands as far below another line of the title's column.
    """
    if action.point is None:
        return None
    here = next((line for line in sight.screen.lines if _holds(line, action.point.x, action.point.y)), None)
    place = sight.places.under(action.point.x, action.point.y)
    if here is None and place is not None and place.kind in ("button", "link"):
        here = next((line for line in sight.screen.lines if overlap(line, place.box)), None)
    if here is None:
        return None
    column = [line for line in sight.screen.lines if _near(line[0], here[0]) and _near(line[2], here[2])]
    for word in sorted(sight.places.words, key=lambda one: one.box[1]):
        below = [line for line in column if line[1] > word.box[1] + word.box[3]]
        if alike(title, word.text) < _SAME or not below:
            continue
        owner = min(below, key=lambda line: line[1])
        apart = owner[1] - word.box[1]
        others = [line for line in column if line != owner and _has_title(sight, line, word.box, apart)]
        if owner == here and others:
            return True
        if here in others:
            return False
    return None


def _of_named_block(here: ElementAt, action: Action, intent: str, goal: str, sight: Sight) -> bool:
    if not called_by_verb(here.name, intent):
        return False
    names = [name for name in row_names(rows_of(here.name, intent)) if meaning(name) and part_of(name, goal) > 0.99]
    return any(in_block(sight, action, name) for name in names)


def _asks_about_goal(page: Evidence, here: ElementAt, intent: str, goal: str, sight: Sight) -> bool:
    """Whether a page with one such button and one that calls off asks about the only thing that the goal names."""
    others = [one for one in page.seen or () if one.role.lower() in _PRESSED and one != here]
    if not match(here.name, meaning(intent)).whole or any(is_final_label(one.name) for one in others):
        return False
    if not any(
        REFUSE.intersection(tokens(folded(one.name))) for one in others if len(tokens(one.name)) <= _LABEL_WORDS
    ):
        return False
    names = {folded(name) for name in wording(goal).quoted or _PROPER.findall(goal)}
    if len(names) != 1:
        return False
    (name,) = names
    asked = [word.text for word in sight.places.words if match(here.name, meaning(word.text)).direct]
    return bool(meaning(name)) and any(part_of(name, text) > 0.99 for text in asked)


def _has_title(sight: Sight, button: Box, title: Box, apart: int) -> bool:
    return any(
        _near(line[0], title[0]) and abs(button[1] - line[1] - apart) <= _STEP_PX and line != title
        for line in sight.screen.lines
    )


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _EDGE_PX


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]
