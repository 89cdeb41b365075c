"""Irreversible presses on which intent, page and goal agree: nothing is left to doubt but that they are irreversible.

That is the button of a block that the intent names by the title above it, the button of a page that asks about the one
thing that the goal names, and the only button of its name where the goal wants such a thing done to something in view.
Only a page that was asked says so; by pixels alone such a press is held back, and so it is where a goal spares
something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foretell.gui.actions import CLICKS, Action
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.final_labels import is_final_label
from foretell.gui.final_wishes import NO_LONGER, wished, wishes
from foretell.gui.lexicon import REFUSE
from foretell.gui.meaning import inflected, match, meaning
from foretell.gui.namesakes import overlap, row_names
from foretell.gui.naming import called_by_verb, rows_of
from foretell.gui.sight import Sight
from foretell.gui.wording import alike, folded, part_of, tokens, wording
from foretell.gui.words import Box

_SAME = 0.93
_IN_PART = 0.99
_PRESSED = frozenset(("button", "link", "submit", "menuitem"))
_LABEL_WORDS = 3  # of a button that is pressed for good
_EDGE_PX, _STEP_PX = 4, 8  # what edges of one column, and distances of one layout, may differ by
_PROPER = re.compile(r"(?<=[\s'\"‘“(])[^\W\d_a-z]\w*(?:[ -][^\W\d_a-z]\w*)*")
_OTHERS = re.compile(
    r"\b(?:(?:do not|does not|don['’]t|never|not|nor|without|no one|nobody|nothing|none)\b[^.;!?]{0,40}\b"
    r"(?:others?|else(?:['’]s)?|elsewhere)|(?:leave|keep)\b[^.;!?]{0,20}\bothers?|"
    r"others?\b[^.;!?]{0,20}\b(?:stay|stays|remain|remains|kept|untouched))\b",
    re.IGNORECASE,
)  # nothing beyond what is wanted is to be touched
_SEVERAL = re.compile(r"\b(?:all|every\w*|selected|ticked|marked|multiple|entire|mass|bulk)\b", re.IGNORECASE)
_NO_LONGER = re.compile(rf"\b{NO_LONGER}\b", re.IGNORECASE)  # asks for a removal and spares nothing
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
    if not 0 < len(tokens(here.name)) <= _LABEL_WORDS or _spares(here.name, f"{goal} {intent}"):
        return False
    return (
        _of_named_block(here, action, intent, goal, sight)
        or _asks_about_goal(page, here, intent, goal, sight)
        or _is_wanted(page, here, action, intent, goal, sight)
    )


def _spares(label: str, said: str) -> bool:
    """Whether something is to be left as it is: something named, or any other where a label means several."""
    named, others = _SPARES.search(_NO_LONGER.sub(" ", _OTHERS.sub(" ", said))), _OTHERS.search(said)
    return named is not None or (others is not None and _SEVERAL.search(label) is not None)


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
    if len(names) != 1 or not wishes(goal) & (wishes(here.name) | wishes(intent)):
        return False
    (name,) = names
    asked = [word.text for word in sight.places.words if match(here.name, meaning(word.text)).direct]
    return bool(meaning(name)) and any(part_of(name, text) > 0.99 for text in asked)


def _is_wanted(page: Evidence, here: ElementAt, action: Action, intent: str, goal: str, sight: Sight) -> bool:
    """Whether the goal wants done what the only button of this name does, to something that is in view."""
    sorts = wishes(here.name) or wishes(intent)
    if not sorts or not (wishes(intent) & sorts or match(here.name, meaning(intent)).said):
        return False
    same = [one for one in page.seen or () if folded(one.name) == folded(here.name)]
    named = bool(here.context) and any(
        part_of(here.context, text) > _IN_PART or part_of(text, here.context) > _IN_PART
        for text in (*_named_in(goal), *(name for name in _named_in(intent) if folded(name) in folded(goal)))
    )
    shown_same = sum(folded(word.text) == folded(here.name) for word in sight.places.words)
    if (len(same) > 1 or shown_same > 1) and not named:
        return False
    if any(in_block(sight, action, name) is False for name in _named_in(goal)):
        return False
    shown = {word for one in sight.places.words for word in meaning(one.text)}
    shown |= {word for one in page.seen or () if one != here for word in meaning(one.name)}
    shown |= {word for title in page.titles for word in meaning(title)}
    clauses = list(wished(goal, sorts))
    about = [meaning(text) for text in (*clauses, *_named_in(goal))]
    return bool(clauses) and any(any(inflected(word, one) for one in shown) for words in about for word in words)


def _named_in(goal: str) -> Iterator[str]:
    """Yields the quoted phrases and capitalised names of a goal."""
    yield from wording(goal).quoted
    yield from _PROPER.findall(goal)


def _has_title(sight: Sight, button: Box, title: Box, apart: int) -> bool:
    return any(
        _near(line[0], title[0]) and abs(button[1] - line[1] - apart) <= _STEP_PX and line != title
        for line in sight.screen.lines
    )


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _EDGE_PX


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]
