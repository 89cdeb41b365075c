"""What a critic saw, in words: what is under the mark, what would happen, and how that stands to the goal.

It describes and prescribes nothing: an agent that is told what to do would follow the critic's guess instead of the
screen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.checks import Finding
from foretell.gui.evidence import ROLES, ElementAt
from foretell.gui.history import History
from foretell.gui.observation import Observation, Proposal
from foretell.gui.places import Place
from foretell.gui.pointing import meant, word_at
from foretell.gui.quoting import quoted
from foretell.gui.sight import Sight
from foretell.gui.typed import focused
from foretell.gui.wording import Wording, colour_name, wording

_LABEL_WORDS = 12  # a longer name is the text of a container
_CALLED: Mapping[str, str] = {
    "button": "a button", "checkbox": "a checkbox", "radio": "a radio button", "field": "a text field",
    "link": "a link", "text": "plain text", "icon": "an icon", "shape": "a shape", "panel": "a larger area",
}  # fmt: skip
_CLICKED: Mapping[Kind, str] = {
    Kind.CLICK: "clicked", Kind.DOUBLE_CLICK: "clicked twice", Kind.TRIPLE_CLICK: "clicked three times",
    Kind.RIGHT_CLICK: "clicked with the right button", Kind.MIDDLE_CLICK: "clicked with the middle button",
    Kind.LONG_PRESS: "pressed for long",
}  # fmt: skip


def explain(
    observation: Observation,
    proposal: Proposal,
    history: History,
    sight: Sight,
    seen: Mapping[str, float],
    findings: Iterable[Finding] = (),
    element: ElementAt | None = None,
    compares: bool = True,
) -> str:
    """A few sentences about the first action; findings of the checks come first.

    Where the page told the `element` under the point, it is described by its role and name, not by its looks.
    What the words of goal and intent are closer to is left out where it is not the reason (`compares`).
    """
    parts = [finding.sentence for finding in findings]
    action = proposal.actions[0] if proposal.actions else None
    if action is not None:
        parts.append(_by_page(element, action) or _under(sight, action, history))
        parts.append(_happens(action))
        parts.append(_serves(sight, action, wording(observation.goal), proposal.intent, seen, compares))
    return " ".join(part for part in parts if part)


def named(place: Place) -> str:
    """A place in words: what it is, and what it says."""
    if place.text and place.kind != "panel":
        return f"{_CALLED[place.kind]} that says {quoted(place.text)}"
    if place.kind == "shape":
        return f"a {colour_name(place.colour)} shape"
    if place.label:
        return f"{_CALLED[place.kind]} next to {quoted(place.label)}"
    return _CALLED[place.kind]


def _by_page(element: ElementAt | None, action: Action) -> str:
    """What the page says is under the point; empty where it said neither a role nor a short name."""
    if element is None or action.kind not in CLICKS or action.point is None:
        return ""
    name = element.name if len(element.name.split()) <= _LABEL_WORDS else ""
    role = element.role.lower() if element.role.lower() in ROLES else ""
    if not name and not role:
        return ""
    kind = "field" if element.editable else role or "element"
    called = f" called {quoted(name)}" if name else " without a name"
    return f"Under the mark is {'an' if kind[0] in 'aeiou' else 'a'} {kind}{called}."


def _under(sight: Sight, action: Action, history: History) -> str:
    if action.kind is Kind.TYPE:
        place = focused(sight, history)
        return f"The last click was on {named(place)}." if place is not None else "No click into a field came before."
    if action.point is None:
        return ""
    where = "the start of the drag" if action.kind is Kind.DRAG else "the mark"
    text = f"Under {where} is {_what(sight, action.point)}."
    if action.to is not None:
        text += f" It ends on {_what(sight, action.to)}."
    return text


def _what(sight: Sight, point: Point) -> str:
    place = sight.places.under(point.x, point.y)
    if place is not None and place.kind not in ("panel",):
        word = word_at(sight.places.words, point.x, point.y)
        return named(place) + (
            f", at the word {quoted(word)}" if word and word != place.text and place.kind == "text" else ""
        )
    near = sight.places.nearest(point.x, point.y)
    ground = "empty ground" if place is None else "an empty part of a larger area"
    if near is None or near.away(point.x, point.y) > 120:
        return ground
    return f"{ground}; the nearest thing, {near.away(point.x, point.y):.0f} pixels away, is {named(near)}"


def _happens(action: Action) -> str:
    match action.kind:
        case kind if kind in CLICKS:
            return f"It would be {_CLICKED[kind]}."
        case Kind.TYPE:
            return f"A text of {len(action.text or '')} characters would be typed."  # which may be a secret
        case Kind.KEY:
            return f"{'+'.join(action.keys)} would be pressed."
        case Kind.SCROLL:
            ways = [("down", "up", action.dy), ("right", "left", action.dx)]
            said = [f"{abs(by):.0f} pixels {plus if by > 0 else minus}" for plus, minus, by in ways if by]
            return f"The view would move {' and '.join(said) or 'by nothing'}."
        case Kind.WAIT:
            return "Nothing would be done for a while."
        case Kind.ANSWER:
            return f"{quoted(action.text or '')} would be given as the answer."
        case Kind.TERMINATE:
            return "The work would end here."
        case _:
            return ""


def _serves(
    sight: Sight, action: Action, goal: Wording, intent: str | None, seen: Mapping[str, float], compares: bool
) -> str:
    said = []
    if action.point is not None:
        here = sight.places.under(action.point.x, action.point.y)
        for words, who in ((goal, "goal"), (wording(intent) if intent else None, "stated intent")):
            if words is None:
                continue
            answer = meant(words, sight, here, word_at(sight.places.words, action.point.x, action.point.y))
            other = answer.best_place
            if (
                compares
                and other is not None
                and answer.here < 0.4
                and answer.best > 0.8
                and other is not here
                and other.name
            ):
                said.append(f"The words of the {who} are closer to {named(other)}, elsewhere on the screen.")
        if seen.get("at.intent_absent", math.nan) == 1.0:
            said.append("What the stated intent quotes is not seen on the screen.")
    if action.kind is Kind.TYPE and seen.get("type.in_goal", 1.0) == 0.0:
        said.append("The goal does not hold this text.")
    if action.kind in (Kind.TERMINATE, Kind.ANSWER) and seen.get("quotes_open", 0.0) > 0:
        said.append(f"Of {len(goal.quoted)} quoted parts of the goal, {seen['quotes_open']:.0f} are not yet confirmed.")
    if seen.get("done_in_vain", 0.0) > 0:
        said.append("The same was done before and changed nothing.")
    if seen.get("busy", 0.0) > 0:
        said.append("The screen says that it is busy.")
    return " ".join(said)
