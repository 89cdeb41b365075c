"""What a person could check of a doubt: the reasons for which a proposal on a larger screen may be interrupted.

The models for larger screens learnt from intents that a script worded, so that their P(bad) alone does not tell right
from wrong where words are chosen freely. What they suspect interrupts only with a reason that can be named: another
thing in view is what the intent names, a label refuses what the intent agrees to, a text differs from what is said of
it, something is disabled or covered, done already, or still open. Without one a doubt is advice at most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.agreed import in_block
from foretell.gui.called import BESIDE_PX, place_clicked
from foretell.gui.checks import Finding
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass
from foretell.gui.lexicon import AGREE, REFUSE
from foretell.gui.meaning import match, meaning
from foretell.gui.namesakes import in_row, is_label_of, overlap, row_names
from foretell.gui.naming import EXACT, likeness, naming_of, rows_of
from foretell.gui.places import Place
from foretell.gui.plurals import says_all
from foretell.gui.pressed import label_at
from foretell.gui.quoting import quoted
from foretell.gui.rivals import Rival, Thing, opposed, rival
from foretell.gui.sight import Sight
from foretell.gui.ticked import as_wanted
from foretell.gui.typed_value import difference
from foretell.gui.wording import alike, folded, part_of, tokens, word_list

SURE = 0.998  # P(bad) of what such a reason decides
ALONE, AGREED, DOUBTED = 0.0, 0.5, 1.0  # P(bad) of a model from which a reason decides; at the last it only names
_FINDING = 0.4  # strength of a check that may be named
_NAMED_OTHERWISE, _CONTRARY = ("wrong_key", "wrong_way"), 0.7  # of one that decides: less is said by the goal alone
_LABELLED = ("button", "link", "text", "field", "checkbox", "radio")
_OWN_TEXT = ("button", "link", "text")
_ROLES = {"button": "button", "link": "link", "field": "textbox", "checkbox": "checkbox", "radio": "radio"}
_STATES = re.compile(
    r"\b(?:switch(?:es|ing)?|turn(?:s|ing)?)\b.*\b(?:on|off)\b|\b(?:un)?(?:tick|check|mark)\b|\b(?:en|dis)able\b|"
    r"\b(?:un)?(?:hide|fold|pin|mute|star|collapse|expand)\b|\b(?:clear|remove|take|set|put)\b.*\b(?:tick|check(?:mark)?)\b",
    re.IGNORECASE,
)
_ROW_OF = r"\b(?:row|line|entry|card)(?: (?:of|for|with))?|\bof|\bfor|\bbeside|\bnext to"
_DIALOGS = frozenset(word_list("dialog alertdialog"))
_PRESSED = frozenset(word_list("button link submit menuitem"))
_NEXT_TO_PX = 16  # a label as near as this to a point on empty ground is that of what is there
_ALIGNED_PX = 6  # left edges of labels of one column


@dataclass(frozen=True)
class Ground:
    """`sentence` names what can be checked, empty where the explanation has it; `bar` is the P(bad) of a model from
    which the reason decides."""

    error: ErrorClass
    sentence: str
    bar: float = DOUBTED


def grounds(
    observed: Evidence | None,
    action: Action,
    at: Action,
    intent: str | None,
    goal: str,
    history: History,
    sight: Sight,
    findings: Sequence[Finding],
    seen: Mapping[str, float],
) -> list[Ground]:
    """The reasons against a proposal's action that can be named; `at` is the action on the screen as the page knows it.

    Where a page was asked, what it says outranks what was read off the pixels.
    """
    focused = observed.focused if observed is not None else None
    takes_text = focused is not None and focused.takes_keys
    findings = [one for one in findings if one.strength >= _FINDING and not (takes_text and one.check == "unfocused")]
    found = [Ground(one.error, one.sentence, ALONE if _is_contrary(one, action) else DOUBTED) for one in findings]
    found += _of_the_past(action, intent, history, seen)
    if action.kind is Kind.TYPE and action.text:
        is_list = action.point is None and takes_text and focused is not None and not focused.editable
        entries = focused.context if is_list and focused is not None else ""
        found += _of_the_text(action.text, intent, goal, entries)
    if observed is not None and observed.seen is not None:
        found += _by_the_page(observed, at, intent, history, sight, action)
        names = naming_of(intent).names if intent and seen.get("at.intent_absent", math.nan) == 1.0 else ()
        if names and not any(part_of(name, one.name) > 0.99 for name in names for one in observed.seen):
            found.append(Ground(ErrorClass.HALLUCINATION, "What the stated intent quotes is not in view."))
    elif intent:
        found += _by_pixels(action, intent, sight, seen)
    return found


def _is_contrary(finding: Finding, action: Action) -> bool:
    """Whether a check found another key, or another direction of a scroll, than the intent names."""
    is_named = finding.check in _NAMED_OTHERWISE and finding.strength >= _CONTRARY
    return is_named and action.kind in (Kind.KEY, Kind.SCROLL)


def _of_the_past(action: Action, intent: str | None, history: History, seen: Mapping[str, float]) -> Iterable[Ground]:
    """What was done already, is still open, or cannot be done yet."""
    last = history.steps[-1] if history.steps else None
    if action.kind in CLICKS and last is not None and last.changed and intent and _STATES.search(intent):
        same = last.action.kind is action.kind and last.action.point == action.point
        if same and folded(last.intent or "") == folded(intent):
            yield Ground(
                ErrorClass.SUBOPTIMAL,
                "The last action was this one, with the same intent, and changed the screen.",
                ALONE,
            )
    if seen.get("done_in_vain", 0.0) > 0:
        yield Ground(ErrorClass.SUBOPTIMAL, "")
    if action.kind in (Kind.TERMINATE, Kind.ANSWER) and seen.get("quotes_open", 0.0) > 0:
        yield Ground(ErrorClass.TERMINATION, "")
    if seen.get("busy", 0.0) > 0:
        yield Ground(ErrorClass.TIMING, "")


def _of_the_text(text: str, intent: str | None, goal: str, entries: str) -> Iterable[Ground]:
    found = difference(text, intent, goal, entries)
    if found is not None:
        yield Ground(
            ErrorClass.CONSTRAINT,
            f"The text to be typed is not what is said of it, {quoted(found.said)}.",
            ALONE if found.sure else AGREED,
        )


def _by_the_page(
    page: Evidence, at: Action, intent: str | None, history: History, sight: Sight, action: Action
) -> Iterable[Ground]:
    if at.kind is Kind.TERMINATE and at.success is not False:
        yield from _open_dialog(page, history)
    here = page.at.get(at.point) if at.point is not None else page.focused if at.kind is Kind.TYPE else None
    if at.kind is Kind.TYPE and at.point is None and (here is None or not here.takes_keys):
        yield Ground(ErrorClass.PREREQUISITE, "", AGREED)
    if not intent or at.kind not in CLICKS | {Kind.TYPE} or (here is None and at.point is None):
        return
    here = here or ElementAt()  # nothing of a name is there
    if here.disabled or here.covered_by:
        yield Ground(ErrorClass.PREREQUISITE, "", ALONE)
    as_it_is = ""
    if at.kind is Kind.CLICK:
        as_it_is = as_wanted(here, page.seen or (), intent, sight, action.point)
    if as_it_is:
        yield Ground(ErrorClass.SUBOPTIMAL, as_it_is, ALONE)
    thing = _thing(here)
    label = label_at(sight, action).text if at.point is not None else ""
    if not thing.is_label or not meaning(thing.name):
        thing = replace(thing, name=label) if label else thing
    elif label and match(label, meaning(intent)).whole:
        return  # what is read there is what the intent says
    others = [_thing(one) for one in page.seen or () if not one.disabled and one != here]
    if at.point is not None and action.point is not None:
        nameless = not thing.is_label or not meaning(thing.name)
        others = [one for one in others if not _stands_beside(one, sight, action.point, intent, nameless)]
    found = list(_against(thing, others, intent, at.kind is Kind.TYPE))
    found += _other_rows(here, page.seen or (), intent)
    found += _row_of_another(here, page.seen or (), intent)
    found += _other_block(here.name, action, intent, sight)
    is_other = not match(thing.name, meaning(intent)).said and not says_all(here.name, intent)
    if not found and thing.is_label and at.kind in CLICKS and is_other:
        found = [replace(one, bar=DOUBTED) for one in _by_pixels(action, intent, sight, {})]
    yield from found


def _other_rows(here: ElementAt, seen: Iterable[ElementAt], intent: str) -> Iterable[Ground]:
    """Whether the intent names the row of other elements of this kind, and this one stands in a row of another name."""
    rows = [row for row in row_names(naming_of(intent).rows) if meaning(row)]
    if not here.context or any(part_of(row, f"{here.context} {here.name}") > 0.99 for row in rows):
        return
    for row in rows:
        if not re.search(rf"(?:{_ROW_OF})\s+(?:the\s+)?['\"‘“]?{re.escape(row)}", intent, re.IGNORECASE):
            continue
        rivals = [one for one in seen if one.role == here.role and part_of(row, one.name) < 0.5]
        if any(part_of(row, one.context) > 0.99 for one in rivals if one.context):
            sentence = f"This is in the row of {quoted(here.context)}; {quoted(row)} stands in another one."
            yield Ground(ErrorClass.CONSTRAINT, sentence, AGREED)
            return


def _row_of_another(here: ElementAt, seen: Iterable[ElementAt], intent: str) -> Iterable[Ground]:
    """Whether the same button stands in another row, and only that row has what else an intent says: "block Rosa"."""
    said = tuple(word for word in meaning(intent) if not match(here.name, (word,)).said)
    if not said or not here.context or match(here.context, said).said:
        return
    same = {one.context for one in seen if one.role == here.role and folded(one.name) == folded(here.name)}
    rows = [row for row in same - {here.context, ""} if len(match(row, said).said) == len(said)]
    if here.context in same and len(rows) == 1:
        sentence = (
            f"This is in the row of {quoted(here.context)}; what the intent names stands in that of {quoted(rows[0])}."
        )
        yield Ground(ErrorClass.CONSTRAINT, sentence, ALONE)


def _other_block(label: str, action: Action, intent: str, sight: Sight) -> Iterable[Ground]:
    """Whether the intent names the title of another block than the one that what is pressed stands in."""
    for title in row_names(rows_of(label, intent)):
        if meaning(title) and in_block(sight, action, title) is False:
            yield Ground(ErrorClass.CONSTRAINT, f"{quoted(title)} stands above another one.", AGREED)
            return


def _stands_beside(other: Thing, sight: Sight, point: Point, intent: str, nameless: bool) -> bool:
    """Whether the name of something else is read where the label of what is pointed at stands, and bears no press.

    The label of something without a name, such as the box before an entry, may also be a link.
    """
    if (other.role.lower() in _PRESSED and not nameless) or not match(other.name, meaning(intent)).said:
        return False
    place = sight.places.under(point.x, point.y)
    box = (int(point.x), int(point.y), 1, 1) if place is None or place.kind == "panel" else place.box
    return any(is_label_of(word.box, box) for word in sight.places.words if alike(word.text, other.name) >= 0.9)


def _thing(element: ElementAt) -> Thing:
    return Thing(element.name, element.role, element.editable, element.context)


def _against(here: Thing, others: Sequence[Thing], intent: str, types: bool) -> Iterable[Ground]:
    if not types and opposed(here, others, intent):
        sentence = f"The stated intent is the opposite of {quoted(here.name)}, which is what is under the mark."
        yield Ground(ErrorClass.MISALIGNMENT, sentence, ALONE)
    found: Rival | None = rival(here, others, intent, types)
    if found is not None:
        what = quoted(here.name) if here.is_label else "without such a name"
        sentence = (
            f"What is acted on is {what}; {quoted(found.thing.name)}, elsewhere in view, is what the intent names."
        )
        error = ErrorClass.GROUNDING if found.faint else ErrorClass.SEMANTIC
        yield Ground(error, sentence, ALONE if found.sure else DOUBTED if found.faint else AGREED)


def _open_dialog(page: Evidence, history: History) -> Iterable[Ground]:
    """Whether a question that the last action raised is still open: a dialog of its name, or one with yes and no."""
    seen = [one for one in page.seen or () if not one.disabled]
    asks: dict[str, set[str]] = {}
    for one in seen:
        if one.context and one.role.lower() in _PRESSED and len(tokens(one.name)) <= 2:
            asks.setdefault(one.context, set()).update(tokens(folded(one.name)))
    for context, labels in asks.items():
        if "?" in context and labels & REFUSE and labels & AGREE:
            yield Ground(ErrorClass.TERMINATION, f"A question is still open: {quoted(context)}.", ALONE)
            return
    last = history.steps[-1].intent if history.steps else None
    done = meaning(last or "")
    for one in seen:
        name = one.context or one.name
        if one.role.lower() in _DIALOGS and done and AGREE.intersection(match(name, done).said):
            yield Ground(ErrorClass.TERMINATION, f"A dialog is still open: {quoted(name)}.", ALONE)
            return


def _by_pixels(action: Action, intent: str, sight: Sight, seen: Mapping[str, float]) -> Iterable[Ground]:
    if seen.get("at.intent_absent", math.nan) == 1.0:
        yield Ground(ErrorClass.HALLUCINATION, "")
    if action.kind is Kind.SCROLL and any(likeness(one.text, intent) == EXACT for one in sight.places.all if one.text):
        yield Ground(ErrorClass.OBSERVATION, "What the stated intent names is in view.")
    if action.point is None or action.kind not in CLICKS:
        return
    x, y = action.point.x, action.point.y
    here = place_clicked(sight, x, y)
    labelled = [one for one in sight.places.all if one.kind in _LABELLED and one is not here and one.name]
    if here is None or here.kind in ("panel", "shape", "icon"):
        yield from _beside(sight, here, labelled, intent, x, y)
        return
    own = here.label if here.kind in ("field", "checkbox", "radio") and here.label else here.text
    thing = Thing(own, _ROLES.get(here.kind, ""), here.kind == "field")
    words = meaning(intent)
    if any(match(text, words).whole or likeness(text, intent) == EXACT for text in (here.text, here.label) if text):
        return
    others = [one for one in labelled if one.kind in ("button", "link") or not _is_its_label(one, here)]
    others = [one for one in others if not overlap(one.box, here.box)]
    if thing.is_label and any(not word.isdigit() for word in meaning(own)):
        things = [Thing(one.label if one.kind == "field" else one.name, _ROLES.get(one.kind, "")) for one in others]
        for one in _against(thing, things, intent, types=False):
            yield one if here.kind in _OWN_TEXT else replace(one, bar=AGREED)  # a label beside it is a guess
    yield from _other_row(sight, here, intent)


def _beside(
    sight: Sight, here: Place | None, labelled: Sequence[Place], intent: str, x: float, y: float
) -> Iterable[Ground]:
    """A click on ground or on a picture, while the only thing that is called as the intent says is elsewhere."""
    named = [one for one in labelled if likeness(one.name, intent) == EXACT and one.away(x, y) > BESIDE_PX]
    point = (int(x), int(y), 1, 1) if here is None or here.kind == "panel" else here.box
    nearest = min(labelled, key=lambda one: one.away(x, y), default=None)
    is_other = nearest is not None and nearest not in named and nearest.away(x, y) <= _NEXT_TO_PX
    apart = is_other or not in_row(named[0].box, point) if named else False
    if len(named) == 1 and apart and not (is_label_of(named[0].box, point) and not is_other):
        yield Ground(
            ErrorClass.GROUNDING, f"{quoted(named[0].name)}, which the intent names, is elsewhere on the screen."
        )


def _is_its_label(text: Place, here: Place) -> bool:
    """Whether a text may be the label of a place: above it, or beside it where it is no text itself."""
    if not is_label_of(text.box, here.box):
        return False
    return here.kind != "text" or not in_row(text.box, here.box)


def _other_row(sight: Sight, here: Place, intent: str) -> Iterable[Ground]:
    """Whether the row that the intent names is another one: its label stands in the column of this row's label."""
    naming = naming_of(intent)
    for phrase in row_names(naming.rows):
        boxes = [word.box for word in sight.places.words if alike(phrase, word.text) >= 0.93]
        if len(boxes) != 1 or in_row(boxes[0], here.box) or part_of(phrase, here.text) > 0.99:
            continue
        mine = [
            word
            for word in sight.places.words
            if in_row(word.box, here.box) and abs(word.box[0] - boxes[0][0]) <= _ALIGNED_PX
        ]
        if mine and mine[0].box != here.box:
            sentence = f"This is in the row of {quoted(mine[0].text)}; {quoted(phrase)} stands in another one."
            yield Ground(ErrorClass.CONSTRAINT, sentence)
            return
