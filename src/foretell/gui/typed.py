"""Features of typing: is the text one that was asked for, and is the field that has the focus the one it belongs in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.checks import Finding
from foretell.gui.history import History, last_click
from foretell.gui.judgement import ErrorClass
from foretell.gui.places import Place
from foretell.gui.pointing import NONE, Features
from foretell.gui.sight import Sight
from foretell.gui.wording import Wording, alike, folded, is_submit, part_of, tokens

UNSEEN = 0.5  # strength of the finding that nothing can have the focus, against that none is seen
_RING = 7  # pixels around a field in which a focus ring is drawn
_KEYS = (
    "enter", "tab", "backspace", "escape", "down", "up", "left", "right", "delete", "space", "end", "home", "pagedown",
    "pageup",
)  # fmt: skip
_SHORTCUTS = ("a", "c", "v", "f")  # with ctrl


def focused(sight: Sight, history: History) -> Place | None:
    """The place that was clicked last, which typing goes to."""
    point = last_click(history)
    return None if point is None else sight.places.under(point.x, point.y)


def focus(sight: Sight, action: Action | None, history: History) -> Features:
    """Evidence that something has the keyboard: what was clicked last, and a ring drawn around a field."""
    names = "clicked on_field on_nothing ring ring_most has_text"
    found = dict.fromkeys(names.split(), NONE)
    if action is None or action.kind not in (Kind.TYPE, Kind.KEY):
        return found
    fields = [place for place in sight.places.all if place.kind in ("field", "panel")]
    rings = [ring(sight, place) for place in fields]
    found["ring_most"] = max(rings, default=0.0) - float(np.median(rings)) if rings else 0.0
    point = last_click(history)
    found["clicked"] = float(point is not None)
    if point is not None:
        place = sight.places.under(point.x, point.y)
        found["on_field"] = float(place is not None and place.kind in ("field", "panel"))
        found["on_nothing"] = float(place is None)
        if place is not None:
            found["ring"] = ring(sight, place)
            found["has_text"] = float(bool(place.text))
    return found


def ring(sight: Sight, place: Place) -> float:
    """How many pixels thick the ink around a place is, on the average of its four sides."""
    x, y, w, h = place.box
    ink = sight.screen.ink
    top, left = max(0, y - _RING), max(0, x - _RING)
    row, column = y + h // 2, x + w // 2
    sides = (
        ink[top : y + _RING, column],
        ink[y + h - _RING : y + h + _RING, column],
        ink[row, left : x + _RING],
        ink[row, x + w - _RING : x + w + _RING],
    )
    return float(np.mean([side.sum() for side in sides]))


def type_features(
    sight: Sight, action: Action | None, history: History, goal: Wording, intent: Wording | None
) -> Features:
    """A typed text against the goal, the intent, the screen, and the field that it goes to."""
    names = (
        "length in_goal in_goal_cased is_quoted quoted_best quoted_case longer in_intent intent_quoted on_screen "
        "before already label label_best label_intent label_intent_best number short_of steps_of"
    )
    found = dict.fromkeys(names.split(), NONE)
    if action is None or action.kind is not Kind.TYPE or not action.text:
        return found
    text = action.text.strip("\n")
    found["length"] = float(len(text))
    found["in_goal_cased"] = float(text in goal.text)
    found["in_goal"] = float(folded(text) in folded(goal.text))
    wanted = tuple(phrase for phrase in goal.quoted if not is_submit(phrase))
    if wanted:
        closest = max(wanted, key=lambda phrase: alike(phrase, text))
        found["is_quoted"] = float(text in wanted)
        found["quoted_best"] = alike(closest, text)
        found["quoted_case"] = float(folded(closest) == folded(text) and closest != text)
        found["longer"] = float(len(text) - len(closest))
        found["short_of"] = float(any(phrase.startswith(text) and phrase != text for phrase in wanted))
    if intent is not None:
        found["in_intent"] = float(text in intent.text)
        if intent.quoted:
            found["intent_quoted"] = max(alike(phrase, text) for phrase in intent.quoted)
    found["on_screen"] = part_of(text, " ".join(word.text for word in sight.places.words))
    earlier = [step.action.text for step in history.steps if step.action.kind is Kind.TYPE and step.action.text]
    found["before"] = float(text in earlier)
    found["steps_of"] = float(sum(len(one) == 1 for one in earlier[-3:]))
    found["number"] = float(any(token.isdigit() for token in tokens(text)))
    place = focused(sight, history)
    if place is not None:
        found["already"] = alike(place.text, text) if place.text else 0.0
        if place.label and goal.quoted:
            fits = [part_of(place.label, context) for context in goal.context]
            found["label_best"] = max(fits)
            own = [fit for fit, phrase in zip(fits, goal.quoted, strict=True) if phrase == text]
            found["label"] = max(own, default=0.0)
        if place.label and intent is not None:
            found["label_intent"] = part_of(place.label, intent.text)
            labels = [one.label for one in sight.places.all if one.kind == "field" and one.label]
            found["label_intent_best"] = max((part_of(label, intent.text) for label in labels), default=0.0)
    return found


def key_features(action: Action | None, history: History, intent: Wording | None) -> Features:
    """Which key is pressed, after what, and whether the intent names it."""
    shortcuts = {f"ctrl_{letter}": letter for letter in _SHORTCUTS}
    found = dict.fromkeys((*_KEYS, *shortcuts, "letter", "other", "named", "after_type"), NONE)
    if action is None or action.kind is not Kind.KEY:
        return found
    keys = [key.lower() for key in action.keys]
    for name in _KEYS:
        found[name] = float(name in keys)
    held = any(key in ("ctrl", "control", "meta", "cmd") for key in keys)
    for name, letter in shortcuts.items():
        found[name] = float(held and letter in keys)
    found["letter"] = float(not held and any(len(key) == 1 for key in keys))
    found["other"] = float(not any(found[name] for name in (*_KEYS, *shortcuts, "letter")))
    found["after_type"] = float(bool(history.steps) and history.steps[-1].action.kind is Kind.TYPE)
    if intent is not None:
        said = tokens(intent.text)
        found["named"] = float(any(key in said for key in keys))
    return found


def is_typed_into_field(
    sight: Sight,
    action: Action,
    history: History,
    goal: str,
    findings: Sequence[Finding],
    error: ErrorClass | None,
) -> bool:
    """Whether a text of the goal is typed where a field was clicked, or tabbed to, that may have had the focus before.

    Such a click changes nothing on the screen, so that nothing is to be seen of the focus.
    """
    if action.kind is not Kind.TYPE or action.point is not None or error is not ErrorClass.PREREQUISITE:
        return False
    if any(one.check != "unfocused" or one.strength >= UNSEEN for one in findings):
        return False
    steps = [step.action for step in history.steps if step.action.kind is not Kind.WAIT]
    if not steps or not folded(action.text or "").strip() or folded(action.text or "") not in folded(goal):
        return False
    place = focused(sight, history)
    on_field = steps[-1].kind in CLICKS and place is not None and place.kind == "field"
    return on_field or (steps[-1].kind is Kind.KEY and "tab" in steps[-1].keys)
