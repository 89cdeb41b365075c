"""What a page or a desktop says of itself, where it can be asked: the element under a point, and what has the focus.

Pixels stay enough; evidence settles what they leave open. An element that is disabled or covered cannot be acted on,
and text goes nowhere unless something editable has the focus. An element that is called as the agent says is no miss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.judgement import ErrorClass
from foretell.gui.quoting import quoted
from foretell.gui.target import target_of
from foretell.gui.wording import alike, content, part_of, same_numbers, word_list

DISABLED, COVERED, UNFOCUSED = 0.998, 0.998, 0.85  # chances that such an action is wrong
CALLED_SO = 0.4  # the most P(bad) of what is refuted by the element's own name
_SAME = 0.93
ROLES = frozenset(
    word_list(
        "button link checkbox radio tab menuitem option combobox textbox searchbox switch slider spinbutton text "
        "password email number search submit label heading cell row gridcell treeitem listitem select textarea"
    )
)  # what a page may call its elements in the guard's sentences
_CHOSEN_BY_LETTER = frozenset(word_list("combobox listbox select option"))
_REFUTED = frozenset((ErrorClass.GROUNDING, ErrorClass.HALLUCINATION, ErrorClass.MISALIGNMENT))


@dataclass(frozen=True)
class ElementAt:
    """An element by its accessibility: `covered_by` says what lies over it, empty where nothing does.

    `context` is what its row, dialog or section is called, `value` what a field holds; `checked` is None where an
    element can be neither on nor off.
    """

    name: str = ""
    role: str = ""
    disabled: bool = False
    editable: bool = False
    covered_by: str = ""
    context: str = ""
    value: str = ""
    checked: bool | None = None

    @property
    def takes_keys(self) -> bool:
        """Whether keys go to it: it is edited, or a list in which letters go to the entry that begins with them."""
        return not self.disabled and (self.editable or self.role.lower() in _CHOSEN_BY_LETTER)


@dataclass(frozen=True)
class Evidence:
    """Elements by the point that was asked about, and the one that has the focus, where one has.

    `seen` are all named elements in view that can be acted on; None where they were not asked for. `titles` are the
    page's own title and the headings in view.
    """

    at: Mapping[Point, ElementAt] = field(default_factory=dict)
    focused: ElementAt | None = None
    seen: tuple[ElementAt, ...] | None = None
    titles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Weighed:
    """A judgement after the evidence: P(bad), the way of being wrong, and a sentence where the evidence decided."""

    p_bad: float
    error: ErrorClass | None
    sentence: str = ""


def weigh(evidence: Evidence, action: Action, intent: str | None, p_bad: float, error: ErrorClass | None) -> Weighed:
    """What a judgement by pixels becomes with the evidence."""
    here = evidence.at.get(action.point) if action.point is not None else None
    if action.kind is Kind.TYPE and action.point is None:
        return _typing(evidence.focused, p_bad, error)
    if here is None or action.kind not in CLICKS | {Kind.TYPE}:
        return Weighed(p_bad, error)
    kind = here.role.lower() if here.role.lower() in ROLES else "element"
    called = f"The {kind} under the mark" + (f", {quoted(here.name)}," if here.name else "")
    if here.disabled and p_bad < DISABLED:
        return Weighed(DISABLED, ErrorClass.PREREQUISITE, f"{called} is disabled.")
    if here.covered_by and p_bad < COVERED:
        sentence = f"{called} is covered by {quoted(here.covered_by)}."
        return Weighed(COVERED, ErrorClass.PREREQUISITE, sentence)
    if intent and error in _REFUTED and is_called(here.name, intent):
        return Weighed(min(p_bad, CALLED_SO), error, f"{called} is called as the intent says.")
    return Weighed(p_bad, error)


def _typing(focused: ElementAt | None, p_bad: float, error: ErrorClass | None) -> Weighed:
    if focused is not None and focused.takes_keys:
        return Weighed(min(p_bad, CALLED_SO) if error is ErrorClass.PREREQUISITE else p_bad, error)
    if p_bad >= UNFOCUSED:
        return Weighed(p_bad, error)
    return Weighed(UNFOCUSED, ErrorClass.PREREQUISITE, "Nothing that takes text has the focus.")


def is_called(name: str, intent: str) -> bool:
    """Whether an element has the name that an intent gives to what it acts on."""
    names = target_of(intent).names
    return bool(name) and any(
        (alike(one, name) >= _SAME and same_numbers(one, name)) or (bool(content(one)) and part_of(one, name) > 0.99)
        for one in names
    )
