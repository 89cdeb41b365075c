"""Features of how far a task has come: what the goal asks for and nothing shows yet, and what the last clicks were on.

Ending a form, stopping and going on are right at one time and wrong at another; these say what time it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.history import History, Step
from foretell.gui.places import Place
from foretell.gui.pointing import NONE, Features, word_at
from foretell.gui.sight import Sight
from foretell.gui.wording import SUBMITS, Wording, alike, folded, is_submit, part_of, tokens

_VALUE = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+|[-+]?\d[\w:/.,-]*\w|[-+]?\d")
_CLAUSES = re.compile(r",| and | then |\. ")
_DIRECT = frozenset((
    "click", "on", "press", "tap", "select", "choose", "left-click", "button", "link", "item", "option", "tab",
    "heading", "checkbox", "field", "picture", "list", "area", "over", "expand", "open",
))  # fmt: skip
_GEOMETRY = frozenset((
    "point", "points", "midpoint", "mid-point", "middle", "center", "centre", "angle", "line", "coordinate", "grid",
    "dot", "bisects", "halves",
))  # fmt: skip


def goal_values(goal: Wording) -> tuple[str, ...]:
    """What a goal wants found or entered: quoted phrases, numbers, and names, but not the names of submit buttons."""
    plain = goal.text
    for phrase in goal.quoted:
        plain = plain.replace(phrase, " ")
    found = [*goal.quoted, *(match.group() for match in _VALUE.finditer(plain))]
    return tuple(dict.fromkeys(one for one in found if not is_submit(one)))


def is_geometric(words: Wording | None) -> float:
    """Whether words mean a place in a picture, where nothing need be drawn; nan where there are no words."""
    return NONE if words is None else float(any(token in _GEOMETRY for token in tokens(words.text)))


def _under(sight: Sight, point: Point | None) -> Place | None:
    return None if point is None else sight.places.under(point.x, point.y)


def _clicks(history: History) -> list[Step]:
    return [step for step in history.steps if step.action.kind in CLICKS and step.action.point is not None]


def past_features(sight: Sight, action: Action | None, history: History, goal: Wording) -> Features:
    """What was clicked before, as far as it is still there to be seen."""
    names = "submitted last_submits last_named same_place same_last fresh repeats typed_open changed_share last_focused"
    found = dict.fromkeys(names.split(), NONE)
    steps = history.steps
    if not steps:
        return found
    clicked = [(step, _under(sight, step.action.point)) for step in _clicks(history)]
    found["submitted"] = max((_submits(step, place) for step, place in clicked), default=0.0)
    last = _under(sight, steps[-1].action.point) if steps[-1].action.kind in CLICKS else None
    found["last_submits"] = _submits(steps[-1], last)
    found["last_focused"] = float("has the focus" in history.effect)
    found["last_named"] = part_of(last.name, goal.text) if last is not None and last.name else NONE
    found["typed_open"] = float(_typed_open(steps))
    found["changed_share"] = sum(step.changed for step in steps) / len(steps)
    here = None if action is None else _under(sight, action.point)
    if here is not None:
        found["same_place"] = float(sum(place is here for _, place in clicked))
        found["same_last"] = float(last is here)
        found["fresh"] = float(last is here and steps[-1].changed and all(s.screen != sight.digest for s in steps))
        found["repeats"] = float(sum(place is here and step.changed for step, place in clicked))
    return found


def _submits(step: Step, place: Place | None) -> float:
    """1 where a step pressed what ends a form, as far as the screen now shows it and its words do not deny it."""
    if place is None or not is_submit(place.text):
        return 0.0
    said = step.intent is None or any(is_submit(token) for token in tokens(step.intent))
    return 1.0 if said else 0.5


def _typed_open(steps: Sequence[Step]) -> bool:
    """Whether something was typed and no enter was pressed since."""
    for step in reversed(steps):
        if step.action.kind is Kind.KEY and "enter" in step.action.keys:
            return False
        if step.action.kind is Kind.TYPE:
            return not (step.action.text or "").endswith("\n")
    return False


def value_features(sight: Sight, action: Action | None, history: History, goal: Wording, done: str) -> Features:
    """How many of the goal's values were dealt with or are in sight, and whether the proposal would end with some open.

    `done` is all that the history says was done, as one text.
    """
    names = (
        "values undone open ending ending_undone ending_empty ending_marked clicks numbers said seen here here_done "
    )
    names += "typed_best typed_exact best_seen"
    found = dict.fromkeys(names.split(), NONE)
    values = goal_values(goal)
    shown, made = folded(" ".join(word.text for word in sight.places.words)), folded(done)
    undone = [one for one in values if folded(one) not in made]
    unseen = [one for one in undone if part_of(one, shown) < 0.8]
    clicks = len(_clicks(history))
    found["values"], found["undone"], found["open"] = float(len(values)), float(len(undone)), float(len(unseen))
    found["clicks"] = float(clicks - len(values))
    found["numbers"] = float(any(token.isdigit() for token in tokens(goal.text)))
    if action is None:
        return found
    here = _under(sight, action.point) if action.kind in CLICKS else None
    if action.kind is Kind.TERMINATE or (here is not None and is_submit(here.text)):
        fields = [place for place in sight.places.all if place.kind == "field"]
        found["ending"], found["ending_undone"] = float(len(unseen)), float(len(undone))
        found["ending_empty"] = float(sum(not place.text for place in fields))
        found["ending_marked"] = float(sum(place.marked for place in sight.places.all))
    own = action.text or ("" if here is None else here.name)
    if own and values:
        found["said"] = float(any(folded(own) == folded(one) for one in values))
    if values:
        found |= _rivals(sight, action, values, undone)
    return found


def _texts_at(sight: Sight, point: Point) -> list[str]:
    """What stands at a point: the text and the label of the place, and the very word."""
    here = _under(sight, point)
    own = [here.text, here.label] if here is not None else []
    return [*own, word_at(sight.places.words, point.x, point.y)]


def _rivals(sight: Sight, action: Action, values: Sequence[str], undone: Sequence[str]) -> Features:
    """Whether what is pointed at or typed is one of the goal's values, while others of them are open and in sight."""
    found: Features = {}
    names = [place.name for place in sight.places.all if place.name and place.kind != "panel"]
    found["seen"] = float(sum(any(alike(one, name) > 0.9 for name in names) for one in undone))
    found["best_seen"] = max((alike(one, name) for one in undone for name in names), default=0.0)
    if action.point is not None:
        own = _texts_at(sight, action.point)
        fits = {one: max(alike(one, text) for text in own) for one in values}
        found["here"] = max((fits[one] for one in undone), default=0.0)
        found["here_done"] = max((fit for one, fit in fits.items() if one not in undone), default=0.0)
    if action.kind is Kind.TYPE and action.text:
        text = action.text.strip("\n")
        found["typed_best"] = max(alike(one, text) for one in values)
        found["typed_exact"] = float(any(one == text for one in values))
    return found


def _miss(sight: Sight, point: Point, intent: Wording) -> float:
    """Pixels from a point to the nearest thing that bears the name which an intent says is acted on.

    Only for names that follow the verb or the kind of control ("press the button 'OK'", not "the plus of 'Tea'"), and
    that stand on the screen; else nan.
    """
    away = [
        max(0.0, place.away(point.x, point.y))
        for phrase, before in zip(intent.quoted, intent.context, strict=True)
        if before.split()[-1:] and before.split()[-1] in _DIRECT and any(c.isalnum() for c in phrase)
        for place in sight.places.all
        if place.kind != "panel" and max(alike(phrase, place.text), alike(phrase, place.label)) > 0.95
    ]
    return min(away, default=NONE)


def intent_values(sight: Sight, action: Action | None, goal: Wording, intent: Wording | None) -> Features:
    """Whether the values that an intent names are the goal's, on the screen, and where the proposal points."""
    names = "values foreign unseen values_best goals_unsaid miss other here elsewhere"
    found = dict.fromkeys(names.split(), NONE)
    if intent is None:
        return found
    values, asked = goal_values(intent), goal_values(goal)
    page = " ".join(word.text for word in sight.places.words)
    found["values"] = float(len(values))
    if values:
        found["foreign"] = float(sum(part_of(one, goal.text) < 0.8 for one in values))
        found["unseen"] = float(sum(part_of(one, page) < 0.8 for one in values))
        if asked:
            found["values_best"] = max(alike(one, other) for one in values for other in asked)
    if action is not None and action.point is not None:
        found["miss"] = _miss(sight, action.point, intent)
        under = _under(sight, action.point)
        if under is not None and under.name and under.kind != "panel":
            found["other"] = found["miss"]  # what is pointed at has a name of its own
        if values:
            texts = _texts_at(sight, action.point)
            found["here"] = max((alike(one, text) for one in values for text in texts), default=0.0)
            everywhere = (place.name for place in sight.places.all if place.kind != "panel")
            found["elsewhere"] = max((alike(one, name) for name in everywhere for one in values), default=0.0)
    said = folded(intent.text)
    found["goals_unsaid"] = float(sum(folded(one) not in said for one in asked))
    return found


def typed_against(action: Action | None, goal: Wording) -> Features:
    """How what is typed compares with what the goal says, letter by letter.

    `exact`: it stands in the goal. `case`: it would, but for capitals. `near`: how like the goal's likest word or
    phrase it is where it does not stand there, which tells a slip from a text that is found elsewhere.
    """
    found = dict.fromkeys(("exact", "case", "near"), NONE)
    text = "" if action is None or action.kind is not Kind.TYPE else (action.text or "").strip("\n")
    if not text:
        return found
    found["exact"] = float(text in goal.text)
    found["case"] = float(text not in goal.text and folded(text) in folded(goal.text))
    if text not in goal.text:
        parts = {*goal.quoted, *(word.strip(".,;:!?\"'") for word in goal.text.split())}
        found["near"] = max((SequenceMatcher(None, text, one, autojunk=False).ratio() for one in parts), default=0.0)
    return found


def clause_features(sight: Sight, action: Action | None, history: History, goal: Wording) -> Features:
    """Whether a form is ended, or the task, before as much has happened as the goal has clauses.

    `due`: the goal speaks of ending a form, and nothing that was clicked looked like it.
    """
    clauses = len([part for part in _CLAUSES.split(goal.text) if len(tokens(part)) > 1])
    changed = sum(step.changed for step in history.steps)
    found = {"clauses": float(clauses), "ahead": NONE, "due": NONE}
    if action is None:
        return found
    here = _under(sight, action.point) if action.kind in CLICKS else None
    if action.kind is Kind.TERMINATE:
        found["ahead"] = float(clauses - changed)
        asked = any(token in SUBMITS for token in tokens(goal.text))
        clicked = ((step, _under(sight, step.action.point)) for step in _clicks(history))
        pressed = any(map(_ends_form, history.steps)) or any(_submits(step, place) for step, place in clicked)
        found["due"] = float(asked and not pressed)
    elif here is not None and is_submit(here.text):
        found["ahead"] = float(clauses - 1 - changed)
    return found


def _ends_form(step: Step) -> bool:
    """Whether a step said that it ends a form, or was an enter."""
    said = step.intent is not None and any(token in SUBMITS for token in tokens(step.intent))
    return said or (step.action.kind is Kind.KEY and "enter" in step.action.keys)


def key_context(action: Action | None, history: History, intent: Wording | None) -> Features:
    """Whether the words that come with a key quote what was typed before."""
    found = {"quotes_typed": NONE}
    if action is not None and action.kind is Kind.KEY and intent is not None:
        typed = [folded(step.action.text) for step in history.steps if step.action.text]
        found["quotes_typed"] = float(any(folded(phrase) in typed for phrase in intent.quoted))
    return found
