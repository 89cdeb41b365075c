"""Whether the label under the point contradicts what the agent says it clicks: "click Send" on a button "Cancel".

Three ways to contradict: the label means the opposite; the named thing stands elsewhere, and what is under the point
has another name; or there are several of that name, and the intent names the row, column or container of another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretell.gui.actions import CLICKS, Action
from foretell.gui.judgement import ErrorClass
from foretell.gui.lexicon import AGREE, REFUSE
from foretell.gui.places import Place
from foretell.gui.pointing import NONE, Features, word_at
from foretell.gui.quoting import quoted
from foretell.gui.sight import Sight
from foretell.gui.target import Target, target_of
from foretell.gui.wording import alike, content, folded, part_of, tokens
from foretell.gui.words import Box

OPPOSED, ELSEWHERE, OTHER_ROW = 0.98, 0.95, 0.93  # chances that such a click is wrong
_SAME, _OTHER = 0.93, 0.6  # likeness of a name that is the one, and of one that is surely not
_LABEL_WORDS = 5  # a longer text is a paragraph, not a label
_ROW_PX, _CONTAINER_PX = 14, 260
_LABELLED = ("button", "link", "text", "checkbox", "radio", "field")


@dataclass(frozen=True)
class Contradiction:
    """`strength` is the chance that the click is wrong for this alone; 0 where nothing contradicts."""

    strength: float = 0.0
    error: ErrorClass | None = None
    sentence: str = ""
    agrees: float = NONE


def contradiction(sight: Sight, action: Action | None, intent: str | None) -> Contradiction:
    """What the label under a click says of the intent. `agrees` is how like the named thing it is, nan if unknown."""
    if action is None or action.point is None or action.kind not in CLICKS or not intent:
        return Contradiction()
    target = target_of(intent)
    here = sight.places.under(action.point.x, action.point.y)
    if not target.names or here is None or here.kind not in _LABELLED:
        return Contradiction()
    own = _own_texts(sight, here, action.point.x, action.point.y)
    agrees = max((_likeness(name, text) for name in target.names for text in own), default=NONE)
    if not own or any(len(tokens(text)) > _LABEL_WORDS for text in own[:1]):
        return Contradiction(agrees=agrees)
    if agrees >= _SAME:
        return _in_other_row(sight, here, target, agrees)
    if agrees >= _OTHER or part_of(own[0], intent) >= 0.5:
        return Contradiction(agrees=agrees)
    if any(_opposite(name, own[0]) for name in target.names):
        name = quoted(target.names[-1])
        sentence = f"The stated intent is to click {name}; the label under the mark is {quoted(own[0])}."
        return Contradiction(OPPOSED, ErrorClass.MISALIGNMENT, sentence, agrees)
    elsewhere = _elsewhere(sight, here, target)
    if elsewhere is not None and not _labels(elsewhere.box, here.box):
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


def _elsewhere(sight: Sight, here: Place, target: Target) -> Place | None:
    """Another place that is called exactly as the intent says."""
    others = [p for p in sight.places.all if p.kind in _LABELLED and p.text and not _overlap(p.box, here.box)]
    return next((p for name in target.names for p in others if alike(name, p.text) >= _SAME), None)


def _in_other_row(sight: Sight, here: Place, target: Target, agrees: float) -> Contradiction:
    """Of several places of one name, whether the context belongs to another one's row, column or container."""
    twins = [p for p in sight.places.all if p.kind in _LABELLED and p.text and alike(p.text, here.text) >= _SAME]
    twins = [p for p in twins if p is here or not _overlap(p.box, here.box)]
    context = [phrase for phrase in target.context if any(part_of(phrase, w.text) > 0.99 for w in sight.places.words)]
    if len(twins) < 2 or not context:
        return Contradiction(agrees=agrees)
    fits = {id(twin): max(_belongs(sight, twin, phrase, twins) for phrase in context) for twin in twins}
    best = max(twins, key=lambda twin: fits[id(twin)])
    if best is here or fits[id(here)] > 0.0 or fits[id(best)] == 0.0:
        return Contradiction(agrees=agrees)
    sentence = (
        f"There are {len(twins)} things called {quoted(here.text)}; this one is not that of {quoted(context[0])}."
    )
    return Contradiction(OTHER_ROW, ErrorClass.CONSTRAINT, sentence, agrees)


def _belongs(sight: Sight, twin: Place, phrase: str, twins: list[Place]) -> float:
    """1 where a line with the phrase stands in the twin's row or column, nearer to it than to any other twin."""
    for word in sight.places.words:
        if part_of(phrase, word.text) <= 0.99:
            continue
        ranks = sorted(twins, key=lambda one: _gap(word.box, one.box))
        if ranks[0] is twin and _gap(word.box, twin.box) < _CONTAINER_PX + twin.box[2]:
            return 1.0
    return 0.0


def _gap(one: Box, other: Box) -> float:
    """How far apart two boxes are; what shares a row counts little, however far it is along it."""
    dx = max(one[0] - other[0] - other[2], other[0] - one[0] - one[2], 0)
    dy = max(one[1] - other[1] - other[3], other[1] - one[1] - one[3], 0)
    same_row = abs(one[1] + one[3] / 2 - other[1] - other[3] / 2) <= _ROW_PX
    return 0.1 * dx if same_row else dx + float(dy)


def _labels(label: Box, control: Box) -> bool:
    """Whether a text stands where a control's label stands: in its row, or right above it."""
    row = min(label[1] + label[3], control[1] + control[3]) - max(label[1], control[1]) > 0
    across = min(label[0] + label[2], control[0] + control[2]) - max(label[0], control[0]) > 0
    aside = max(label[0] - control[0] - control[2], control[0] - label[0] - label[2])
    above = control[1] - label[1] - label[3]
    tall = max(12, label[3])
    return (row and aside <= 4 * tall) or (across and 0 <= above <= 3 * tall)


def _overlap(one: Box, other: Box) -> bool:
    return min(one[0] + one[2], other[0] + other[2]) > max(one[0], other[0]) and min(
        one[1] + one[3], other[1] + other[3]
    ) > max(one[1], other[1])
