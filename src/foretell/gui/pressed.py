"""The label of what an action presses, by the pixels: the text of a button, a link or a line, or the only one of a box.

A large button is a box like any other: beside its text it is still pressed. A box that holds more than one text, or a
control, says nothing of what is pressed in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from foretell.gui.actions import Action, Kind
from foretell.gui.final_labels import is_final_label
from foretell.gui.namesakes import overlap
from foretell.gui.places import Place
from foretell.gui.sight import Sight
from foretell.gui.wording import folded, tokens

_LABELLED = ("button", "link", "text")
_BOXES = ("panel", "shape")


@dataclass(frozen=True)
class Label:
    """A text, and whether it is that of a control: a line of text may stand beside what is pressed."""

    text: str = ""
    of_control: bool = False


def label_at(sight: Sight, action: Action) -> Label:
    """The label under an action's point; empty where there is none."""
    if action.point is None:
        return Label()
    place = sight.places.under(action.point.x, action.point.y)
    if place is None:
        return Label()
    if place.kind in _LABELLED:
        return Label(place.text, place.kind != "text")
    return Label(_only_text(sight, place), True) if place.kind in _BOXES else Label()


def is_final_at(sight: Sight, action: Action, clicks: bool) -> bool:
    """Whether what an action presses has a label that names something irreversible.

    `clicks` says that it clicks at its point; a drag that stays on one button does, too.
    """
    return (clicks or _stays_on_control(sight, action)) and is_final_label(label_at(sight, action).text, read=True)


def reads_as(sight: Sight, action: Action, name: str) -> bool:
    """Whether the part of a line that an action points at reads as a name: several labels may be read as one line."""
    place = None if action.point is None else sight.places.under(action.point.x, action.point.y)
    if place is None or action.point is None or place.kind != "text" or not place.box[2]:
        return False
    words, own = place.text.split(), tokens(folded(name))
    ends = list(accumulate(len(word) + 1 for word in words))
    pointed = (action.point.x - place.box[0]) / place.box[2] * (ends[-1] - 1 if ends else 0)
    here = next((at for at, end in enumerate(ends) if pointed < end), None)
    if here is None or not 0 < len(own) < len(words):
        return False
    plain = [folded(word) for word in words]
    return any(plain[at : at + len(own)] == list(own) for at in range(here - len(own) + 1, here + 1) if at >= 0)


def _stays_on_control(sight: Sight, action: Action) -> bool:
    if action.kind is not Kind.DRAG or action.point is None or action.to is None:
        return False
    here = sight.places.under(action.point.x, action.point.y)
    there = sight.places.under(action.to.x, action.to.y)
    return here is not None and here is there and here.kind in ("button", "link")


def _only_text(sight: Sight, box: Place) -> str:
    inside = [one for one in sight.places.all if one is not box and one.area < box.area and overlap(one.box, box.box)]
    if any(one.kind not in _LABELLED for one in inside):
        return ""
    texts = {one.text for one in inside if one.text}
    return texts.pop() if len(texts) == 1 else ""
