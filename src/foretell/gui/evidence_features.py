"""Features of what a page says of itself, for the critic that is asked with evidence; nan is "not known".

The element under the point by its name, role and state, against the intent and the clauses of the goal; whether another
element bears the name that the intent gives; and what has the focus, where something is typed.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.gui.actions import POINTED, Action, Kind
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.history import History
from foretell.gui.plan import Clause, Course, course
from foretell.gui.pointing import NONE, Features
from foretell.gui.target import target_of
from foretell.gui.wording import Wording, alike, content, folded, part_of, tokens, wording

_ROLES = {
    "link": ("link", "a"),
    "button": ("button", "submit", "reset", "push button", "summary"),
    "field": (
        "textbox",
        "searchbox",
        "spinbutton",
        "text",
        "email",
        "password",
        "number",
        "search",
        "textarea",
        "entry",
    ),
    "toggle": ("checkbox", "switch", "menuitemcheckbox", "check box", "toggle button"),
    "choice": ("radio", "option", "menuitemradio", "radio button", "combobox", "select", "listbox", "combo box"),
    "menu": ("menuitem", "menu", "menu item", "tab", "treeitem", "page tab"),
}
_NAMES = (
    "known disabled covered editable named intent_like intent_holds intent_in goal_due goal_final goal_best goal_past "
    "covers_due covers_best here_best elsewhere twins context context_best off on noun value_fits in_view in_view_due "
    "focus focus_editable focus_intent focus_due focus_value focus_here"
)
_SAME, _MOST_WORDS = 0.93, 5
PREFIX = "page."  # of these features in a model


def page_features(
    evidence: Evidence, action: Action | None, goal: str, intent: str | None, history: History
) -> Features:
    """The features as the model names them."""
    found = evidence_features(evidence, action, history, wording(goal), wording(intent) if intent else None)
    return {f"{PREFIX}{name}": value for name, value in found.items()}


def evidence_features(
    evidence: Evidence, action: Action | None, history: History, goal: Wording, intent: Wording | None
) -> Features:
    """What the page says of a proposal; all nan but the focus where nothing is pointed at."""
    found = dict.fromkeys((*_NAMES.split(), *(f"is_{role}" for role in _ROLES)), NONE)
    if action is None:
        return found
    at = course(goal.text, history)
    names = target_of(intent.text).names if intent is not None else ()
    found |= _focus(evidence.focused, action, at, intent)
    if evidence.seen is not None:
        found["in_view"] = _best(names, evidence.seen)
        due = at.clause(at.by_words)
        found["in_view_due"] = max((_covers(due, one.name) for one in evidence.seen), default=0.0)
    if action.point is None or action.kind not in POINTED:
        return found
    here = evidence.at.get(action.point)
    found["known"] = float(here is not None)
    if here is None:
        found["elsewhere"] = found["in_view"]
        return found
    return found | _under(here, evidence.seen, at, names, intent)


def _under(
    here: ElementAt, seen: Sequence[ElementAt] | None, at: Course, names: Sequence[str], intent: Wording | None
) -> Features:
    """The element under the point, and its rivals."""
    found: Features = {f"is_{role}": float(here.role.lower() in listed) for role, listed in _ROLES.items()}
    found["disabled"], found["covered"] = float(here.disabled), float(bool(here.covered_by))
    found["editable"], found["named"] = float(here.editable), float(bool(content(here.name)))
    fits = [part_of(_short(here.name), clause.text) for clause in at.clauses]
    covers = [_covers(clause, here.name) for clause in at.clauses]
    due = min(at.by_words, len(fits) - 1)
    found["goal_due"], found["goal_final"], found["goal_best"] = fits[due], fits[-1], max(fits)
    found["goal_past"] = max(fits[: at.by_words], default=NONE)
    found["covers_due"], found["covers_best"] = covers[due], max(covers)
    if here.checked is not None:
        said = set(tokens(f"{at.clauses[due].text} {intent.text if intent is not None else ''}"))
        found["off"] = float(bool(said & {"untick", "off", "uncheck", "disable"}) and not here.checked)
        found["on"] = float(here.checked and not said & {"untick", "off", "uncheck", "disable"})
    if intent is not None:
        found["intent_like"] = _best(names, [here])
        found["intent_holds"] = max((part_of(name, here.name) for name in names), default=NONE)
        found["intent_in"] = part_of(_short(here.name), intent.text) if content(here.name) else NONE
        found["noun"] = _noun(here, intent)
    if seen is None:
        return found
    others = [one for one in seen if one != here]
    found["elsewhere"] = _best(names, others)
    found["here_best"] = found.get("intent_like", NONE) - found["elsewhere"]
    twins = [one for one in others if folded(one.name) == folded(here.name)]
    found["twins"] = float(len(twins))
    context = target_of(intent.text).context if intent is not None else ()
    if twins and context:
        found["context"] = max(part_of(phrase, here.context) for phrase in context)
        found["context_best"] = max(part_of(phrase, one.context) for phrase in context for one in twins)
    return found


def _focus(focused: ElementAt | None, action: Action, at: Course, intent: Wording | None) -> Features:
    """Features of the element with the keyboard focus."""
    if action.kind not in (Kind.TYPE, Kind.KEY):
        return {"focus_here": float(focused is not None and focused.editable)}
    found: Features = {"focus": float(focused is not None)}
    found["focus_editable"] = float(focused is not None and focused.editable and not focused.disabled)
    if focused is None:
        return found
    found["focus_intent"] = part_of(focused.name, intent.text) if intent is not None and focused.name else NONE
    found["focus_due"] = part_of(focused.name, at.clause(at.by_words).text) if focused.name else NONE
    if action.text and focused.value:
        found["focus_value"] = alike(action.text.strip("\n"), focused.value)
    return found


def _best(names: Sequence[str], elements: Sequence[ElementAt]) -> float:
    """The best similarity between any of `names` and the name of any of `elements`; nan if there are no names."""
    if not names:
        return NONE
    return max((_like(name, one.name) for name in names for one in elements if one.name), default=0.0)


def _like(name: str, whole: str) -> float:
    """As `alike`, but allows for long names (a list entry with date and sender), which are often shortened."""
    words, said = whole.split(), name.split()
    short = " ".join(words[: len(said)])
    return max(alike(name, whole), 0.97 * alike(name, short) if 2 < len(said) < len(words) else 0.0)


def _short(name: str) -> str:
    """The first words of a name: what people and agents call a long one."""
    return " ".join(name.split()[:_MOST_WORDS])


def _covers(clause: Clause, name: str) -> float:
    """The share of a clause's words that `name` contains, or its similarity to a quoted phrase if nearly equal."""
    whole = max((alike(value, name) for value in clause.values), default=0.0)
    return max(whole if whole >= _SAME else 0.0, part_of(clause.about, name)) if name else 0.0


def _noun(here: ElementAt, intent: Wording) -> float:
    """1 if the element is of a kind that the intent names, 0 if of another; nan if the intent names none."""
    kinds = {"button": "button", "checkbox": "toggle", "radio": "choice", "field": "field", "link": "link"}
    asked = {kinds[one] for one in intent.controls if one in kinds}
    own = {role for role, listed in _ROLES.items() if here.role.lower() in listed}
    return float(bool(asked & own)) if asked and own else NONE
