"""Whether what a click is on is what its intent names: the only one of that name, or the one in its row.

Then a model's doubt alone does not interrupt it: the models were trained on intents that a script worded. What
contradicts the click, a repetition, a disabled or covered element and what is irreversible count as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.evidence import ElementAt
from foretell.gui.history import History
from foretell.gui.namesakes import LABELLED, in_row, is_label_of, other_row, overlap, row_names
from foretell.gui.naming import EXACT, likeness, naming_of, rows_of
from foretell.gui.places import Place
from foretell.gui.pointing import promise, score, word_at
from foretell.gui.sight import Sight
from foretell.gui.untaught import GOAL_NAMES
from foretell.gui.wording import alike, content, part_of, wording

BESIDE_PX = 4.0  # beside its words a link or a button is still clicked
_SAME = 0.93
_CHANGED = re.compile(r"^'(?P<label>.+?)' was clicked and changed")
_LIKE_FIELDS = ("field", "button", "shape")  # a placeholder makes a dark field look like a button


def is_called_on_page(here: ElementAt, seen: Sequence[ElementAt] | None, intent: str) -> bool:
    """Whether an element is what an intent names; of several of that name, the one whose row the intent names."""
    own = likeness(here.name, intent)
    if not own or here.disabled or here.covered_by:
        return False
    rows = row_names(rows_of(here.name, intent))
    held = _held(rows, here)
    if seen is None:
        return held > 0.99 if rows and here.context else own == EXACT
    twins = [one for one in seen if one != here and likeness(one.name, intent) >= own]
    if not twins:
        return not (rows and here.context and any(_held(rows, one) > held for one in seen))
    return bool(rows) and held > max(_held(rows, one) for one in twins)


def _held(rows: Iterable[str], one: ElementAt) -> float:
    return max((part_of(phrase, one.context) for phrase in rows), default=0.0)


def is_called_on_screen(sight: Sight, action: Action, intent: str) -> bool:
    """Whether the label under a click, or up to 4 pixels beside it, is what the intent names, and the only one."""
    if action.point is None or action.kind not in CLICKS:
        return False
    x, y = action.point.x, action.point.y
    here = place_clicked(sight, x, y)
    if here is None:
        return False
    named = [p for p in sight.places.all if p.kind in LABELLED and p.text and likeness(p.text, intent) == EXACT]
    if "field" in wording(intent).controls and here.kind in _LIKE_FIELDS and not likeness(here.text, intent):
        return len(named) == 1 and named[0].kind == "text" and is_label_of(named[0].box, here.box)
    texts = (here.label, here.text) if here.kind == "field" else (here.text, word_at(sight.places.words, x, y))
    label = next((text for text in texts if likeness(text, intent) == EXACT), None)
    if label is None or here.kind not in LABELLED:
        return False
    twins = [p for p in named if not overlap(p.box, here.box)]
    if here.kind == "field":
        own = [p for p in twins if p.kind == "text" and label == here.label and alike(p.text, label) >= _SAME]
        twins = [p for p in twins if not (own == [p] or is_label_of(p.box, here.box))]
    if not twins:
        return True
    number = naming_of(intent).number
    if number is not None:
        ordered = sorted((here, *twins), key=lambda p: (round(p.centre[1] / 12), p.centre[0]))
        return ordered.index(here) == (len(ordered) - 1 if number < 0 else number - 1)
    return _in_named_row(sight, replace(here, text=label), twins, intent)


def _in_named_row(sight: Sight, here: Place, twins: Sequence[Place], intent: str) -> bool:
    rows = row_names(rows_of(here.text, intent))
    phrases = [word.box for word in sight.places.words for row in rows if part_of(row, word.text) > 0.99]
    mine = any(in_row(box, here.box) for box in phrases)
    return (
        mine
        and not any(in_row(box, twin.box) for box in phrases for twin in twins)
        and (other_row(sight.places, here, rows) is None)
    )


def place_clicked(sight: Sight, x: float, y: float) -> Place | None:
    """The place under a point, or the words of a link or a button up to 4 pixels beside it."""
    here = sight.places.under(x, y)
    if here is not None and here.kind not in ("panel", "shape"):
        return here
    near = sight.places.nearest(x, y)
    if near is not None and near.kind in ("text", "link", "button") and near.away(x, y) <= BESIDE_PX:
        return near
    return here


def goal_margin(sight: Sight, action: Action, intent: str | None, goal: str, history: History, margin: float) -> float:
    """By how much the goal fits what is clicked better than the best other thing in view, where `margin` is low.

    Letters and articles are no names, what was typed already is no sign of what is still to be clicked, and what the
    goal names in the row that the intent names speaks for what stands in that row.
    """
    if action.point is None or not margin <= GOAL_NAMES:
        return margin
    words = wording(goal).readable()
    here = sight.places.under(action.point.x, action.point.y)
    typed = [step.action.text.strip() for step in history.steps if step.action.kind is Kind.TYPE and step.action.text]
    others = [p for p in sight.places.all if p is not here and not _says_nothing(p.text or p.label, typed)]
    if here is not None and intent:
        rows = row_names(rows_of(here.text, intent))
        others = [p for p in others if not (in_row(p.box, here.box) and any(part_of(r, p.text) > 0.99 for r in rows))]
    own = -0.5 if here is None else score(words, here)
    return own - max((promise(words, p) for p in others), default=own)


def _says_nothing(text: str, typed: Iterable[str]) -> bool:
    """Whether a text names nothing that a goal would have clicked: no word of two letters, or typed by the agent."""
    if not any(len(word) > 1 for word in content(text)):
        return True
    return any(alike(text, one) >= _SAME or part_of(text, one) > 0.99 for one in typed)


def is_new_label(sight: Sight, action: Action, history: History) -> bool:
    """Whether the last click changed the label under it: an X became "Are you sure?"."""
    changed = _CHANGED.match(history.effect)
    here = None if action.point is None else sight.places.under(action.point.x, action.point.y)
    if changed is None or here is None or here.kind not in LABELLED or not content(here.text):
        return False
    return max(part_of(here.text, changed["label"]), part_of(changed["label"], here.text)) < 0.5
