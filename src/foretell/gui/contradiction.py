"""Whether the label under the point contradicts what the agent says it clicks: "click Send" on a button "Cancel".

Three ways to contradict: the label means the opposite; the named thing stands elsewhere, and what is under the point
has another name; or there are several of that name, and the intent names the row or container of another one
(`namesakes`).
"""

from __future__ import annotations

from dataclasses import dataclass

from foretell.gui.actions import CLICKS, Action
from foretell.gui.judgement import ErrorClass
from foretell.gui.lexicon import AGREE, REFUSE, ROW_ACTIONS
from foretell.gui.namesakes import LABELLED, SAME, is_label_of, other_row, overlap
from foretell.gui.places import Place
from foretell.gui.pointing import NONE, Features, word_at
from foretell.gui.quoting import quoted
from foretell.gui.sight import Sight
from foretell.gui.target import Target, target_of
from foretell.gui.wording import alike, content, folded, part_of, tokens

OPPOSED, ELSEWHERE, OTHER_ROW = 0.98, 0.95, 0.95  # chances that such a click is wrong
_OTHER = 0.6  # likeness of a name that is surely not the one
_LABEL_WORDS = 5  # a longer text is a paragraph, not a label


@dataclass(frozen=True)
class Contradiction:
    """`strength` is the chance that the click is wrong for this alone; 0 where nothing contradicts.

    `agrees` is how like the named thing the label is, nan if unknown; `named` says that it is the one, in some row.
    """

    strength: float = 0.0
    error: ErrorClass | None = None
    sentence: str = ""
    agrees: float = NONE
    named: bool = False


def contradiction(sight: Sight, action: Action | None, intent: str | None) -> Contradiction:
    """What the label under a click says of the intent."""
    if action is None or action.point is None or action.kind not in CLICKS or not intent:
        return Contradiction()
    target = target_of(intent)
    here = sight.places.under(action.point.x, action.point.y)
    if not target.names or here is None or here.kind not in LABELLED:
        return Contradiction()
    x, y = action.point.x, action.point.y
    own, inner = _own_texts(sight, here, x, y), [here.text, word_at(sight.places.words, x, y)]
    agrees = max((_likeness(name, text) for name in target.names for text in own), default=NONE)
    labels = [text for text in ((here.text,) if _is_row_action(here.text) else (*own, *inner)) if text]
    if not labels or len(tokens(labels[0])) > _LABEL_WORDS:
        return Contradiction(agrees=agrees)
    if any(_likeness(name, text) >= SAME for name in target.names for text in labels):
        return _in_other_row(sight, here, target, agrees)
    acts = any(map(_is_row_action, target.names)) and _is_row_action(here.text)
    if acts:
        own = [here.text]
    elif not own or agrees >= _OTHER or part_of(own[0], intent) >= 0.5:
        return Contradiction(agrees=agrees)
    if any(_opposite(name, own[0]) for name in target.names):
        name = quoted(target.names[-1])
        sentence = f"The stated intent is to click {name}; the label under the mark is {quoted(own[0])}."
        return Contradiction(OPPOSED, ErrorClass.MISALIGNMENT, sentence, agrees)
    elsewhere = _elsewhere(sight, here, target, acts)
    if elsewhere is not None:
        other = quoted(elsewhere.text)
        sentence = f"The label under the mark is {quoted(own[0])}; {other} stands elsewhere on the screen."
        return Contradiction(ELSEWHERE, ErrorClass.SEMANTIC, sentence, agrees)
    return Contradiction(agrees=agrees)


def contradiction_features(found: Contradiction) -> Features:
    return {"strength": found.strength, "agrees": found.agrees}


def _own_texts(sight: Sight, here: Place, x: float, y: float) -> list[str]:
    """What the place is called: a button by its text, a field or a tick by its label; then the very word."""
    first, second = (here.label, here.text) if here.kind in ("field", "checkbox", "radio") else (here.text, here.label)
    found = [first] if here.kind == "field" else [first, second, word_at(sight.places.words, x, y)]
    return [text for text in found if text and any(c.isalnum() for c in text)]


def _likeness(name: str, text: str) -> float:
    """As `alike`; a label that holds all words of the name, or the other way round, may be meant."""
    whole = content(name) and content(text) and max(part_of(name, text), part_of(text, name)) > 0.99
    return max(alike(name, text), 0.95 if whole else 0.0)


def _opposite(name: str, label: str) -> bool:
    said, shown = set(tokens(folded(name))), set(tokens(folded(label)))
    if not shown or len(shown) > 2 or said & shown:
        return False
    return bool(said & AGREE and shown <= REFUSE) or bool(said and said <= REFUSE and shown & AGREE)


def _is_row_action(text: str) -> bool:
    """Whether a label is what is done with the entry of a row, rather than a name or a value."""
    return folded(text) in ROW_ACTIONS


def _elsewhere(sight: Sight, here: Place, target: Target, acts: bool) -> Place | None:
    """Another place that is called exactly as the intent says; None if it may be the label of the one pointed at.

    A button or a link is a control of its own and labels nothing, nor does one action of a row (`acts`) label another;
    other texts in one row may be a name and its value.
    """
    others = [p for p in sight.places.all if p.kind in LABELLED and p.text and not overlap(p.box, here.box)]
    named = [p for p in others if any(alike(name, p.text) >= SAME for name in target.names)]
    if not acts and any(p.kind not in ("button", "link") and is_label_of(p.box, here.box) for p in named):
        return None
    return named[0] if named else None


def _in_other_row(sight: Sight, here: Place, target: Target, agrees: float) -> Contradiction:
    """Whether the intent names the row or container of another place that is called the same."""
    found = other_row(sight.places, here, target.context)
    if found is None:
        return Contradiction(agrees=agrees, named=True)
    sentence = (
        f"There are {found.count} things called {quoted(here.text)}; this one is not that of {quoted(found.phrase)}."
    )
    return Contradiction(OTHER_ROW, ErrorClass.CONSTRAINT, sentence, agrees, named=True)
