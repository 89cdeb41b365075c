"""Places that are called the same, told apart by the row or the container that an intent names: "Delete" of "Bob".

Only what is surely known counts: the name stands in the row of another place of that label, or in a box around it, and
the row of the one pointed at was read and does not hold the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foretell.gui.places import Place, Places
from foretell.gui.wording import alike, part_of, tokens
from foretell.gui.words import Box

SAME = 0.93  # likeness of a label that is the one
LABELLED = ("button", "link", "text", "checkbox", "radio", "field")
_ROW_PX, _ROW_SHARE = 14, 0.6  # what the middles of a row may be apart: pixels, and of the height of a place


@dataclass(frozen=True)
class OtherRow:
    """`phrase` names a row that is another one's; `count` places are called the same."""

    phrase: str
    count: int


def row_names(context: Iterable[str]) -> tuple[str, ...]:
    """The phrases of a context that can name a row; numbers and single letters tell too little."""
    return tuple(phrase for phrase in context if any(len(token) > 1 and token.isalpha() for token in tokens(phrase)))


def other_row(places: Places, here: Place, context: Iterable[str]) -> OtherRow | None:
    """The row that the context names, if it surely is that of another place with the text of `here`; else None."""
    twins = [p for p in places.all if p.kind in LABELLED and p.text and alike(p.text, here.text) >= SAME]
    twins = [p for p in twins if p is here or not overlap(p.box, here.box)]
    if len(twins) < 2 or any(p.kind == "text" and not p.text and in_row(p.box, here.box) for p in places.all):
        return None
    for phrase in row_names(context):
        boxes = [word.box for word in places.words if part_of(phrase, word.text) > 0.99]
        owners = [twin for twin in twins if any(_belongs(places, box, twin, twins) for box in boxes)]
        if owners:
            return None if here in owners else OtherRow(phrase, len(twins))
    return None


def in_row(one: Box, other: Box) -> bool:
    """Whether two boxes stand in one row; `other` is that of the control."""
    apart = abs(one[1] + one[3] / 2 - other[1] - other[3] / 2)
    return apart <= max(_ROW_PX, _ROW_SHARE * other[3])


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share a pixel."""
    return min(one[0] + one[2], other[0] + other[2]) > max(one[0], other[0]) and min(
        one[1] + one[3], other[1] + other[3]
    ) > max(one[1], other[1])


def is_label_of(label: Box, control: Box) -> bool:
    """Whether a text stands where a control's label stands: in its row, or right above it."""
    row = min(label[1] + label[3], control[1] + control[3]) - max(label[1], control[1]) > 0
    across = min(label[0] + label[2], control[0] + control[2]) - max(label[0], control[0]) > 0
    aside = max(label[0] - control[0] - control[2], control[0] - label[0] - label[2])
    above = control[1] - label[1] - label[3]
    tall = max(12, label[3])
    return (row and aside <= 4 * tall) or (across and 0 <= above <= 3 * tall)


def _belongs(places: Places, name: Box, twin: Place, twins: list[Place]) -> bool:
    """Whether a name stands in the twin's row, or in a box that holds it and no other twin."""
    if in_row(name, twin.box):
        return True
    around = [p.box for p in places.all if p.kind != "text" and _holds(p.box, name) and _holds(p.box, twin.box)]
    return any(sum(_holds(box, one.box) for one in twins) == 1 for box in around)


def _holds(outer: Box, inner: Box) -> bool:
    return (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and outer[0] + outer[2] >= inner[0] + inner[2]
        and outer[1] + outer[3] >= inner[1] + inner[3]
    )
