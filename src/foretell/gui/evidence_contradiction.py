"""What a page says of a contradiction that was read off the pixels: it confirms it, refutes it, or finds its own."""

from __future__ import annotations

from dataclasses import replace

from foretell.gui.actions import CLICKS, Action
from foretell.gui.contradiction import Contradiction
from foretell.gui.evidence import ElementAt, Evidence, is_called
from foretell.gui.final_labels import is_final_label
from foretell.gui.judgement import ErrorClass
from foretell.gui.lexicon import REFUSE
from foretell.gui.namesakes import row_names
from foretell.gui.naming import likeness, rows_of
from foretell.gui.pressed import Label
from foretell.gui.quoting import quoted
from foretell.gui.target import target_of
from foretell.gui.wording import alike, content, folded, part_of, tokens

_OF_LISTS = frozenset(("checkbox", "radio", "switch", "option", "listitem", "row", "cell", "gridcell", "treeitem"))
_PRESSED = frozenset(("button", "link", "submit", "menuitem", "tab", "summary", "push button"))  # bear their own label
_LIKE = 0.6  # of two words, of which one was read off a screen
_CLEAR_LETTERS = 3  # fewer may be a picture that was taken for a letter
CONFIRMED = 0.998  # chance that a click is wrong whose label or row the page, too, says is another


def against_page(evidence: Evidence | None, action: Action, intent: str | None, found: Contradiction) -> Contradiction:
    """The contradiction after the evidence; as it was `found` where the page says nothing of the element."""
    here = evidence.at.get(action.point) if evidence is not None and action.point is not None else None
    if evidence is None or here is None or action.kind not in CLICKS or not intent or not tokens(here.name):
        return found
    called = is_called(here.name, intent)
    if not called and not likeness(here.name, intent):
        named_otherwise = found.strength > 0 and found.error is not ErrorClass.CONSTRAINT
        return replace(found, strength=CONFIRMED) if named_otherwise else Contradiction(agrees=found.agrees)
    rows = row_names(rows_of(here.name, intent))
    if any(part_of(phrase, here.context) > 0.99 for phrase in rows):
        return Contradiction(agrees=found.agrees, named=called)
    if found.error is ErrorClass.CONSTRAINT:
        return replace(found, strength=CONFIRMED)
    twins = [one for one in evidence.seen or () if one != here and folded(one.name) == folded(here.name)]
    other = _row_of(twins, rows) if here.context else None
    if other is None:
        return Contradiction(agrees=found.agrees, named=called)
    count = f"There are {len(twins) + 1} things called {quoted(here.name)}"
    sentence = f"{count}; this one is not that of {quoted(other)}."
    return Contradiction(CONFIRMED, ErrorClass.CONSTRAINT, sentence, found.agrees, named=called)


def _row_of(twins: list[ElementAt], rows: tuple[str, ...]) -> str | None:
    """The first phrase that a twin's row or section is called by; None if there is none."""
    return next((phrase for phrase in rows if any(part_of(phrase, one.context) > 0.99 for one in twins)), None)


def disagrees(label: Label, here: ElementAt, intent: str | None = None) -> bool:
    """Whether a clear label on the screen and the name that the page gives it differ in what matters.

    That is where one of them is irreversible, and where the page's name is what the intent names and the label of a
    control is not, by no word of it. Lines of text name the entries of lists as well ("Buy milk"): beside one stands
    what is pressed.
    """
    if sum(c.isalpha() for c in label.text) < _CLEAR_LETTERS:
        return False
    shown = is_final_label(label.text, read=True)
    if not (shown or is_final_label(here.name)):
        return label.of_control and bool(intent) and _is_called_otherwise(label.text, here, intent or "")
    if not label.of_control and (not shown or here.role.lower() in _OF_LISTS):
        return False
    refuses = REFUSE.intersection(tokens(folded(here.name))) - set(tokens(folded(label.text)))
    return bool(refuses) or max(part_of(label.text, here.name), part_of(here.name, label.text)) <= 0.99


def _is_called_otherwise(text: str, here: ElementAt, intent: str) -> bool:
    """Whether only the page's name is the one in an intent: the words of the label that is shown are not in it."""
    if here.role.lower() not in _PRESSED or not is_called(here.name, intent):
        return False
    shown, names = content(text), target_of(intent).names
    return bool(shown) and not any(_shares(word, name) for word in shown for name in names)


def _shares(word: str, name: str) -> bool:
    return any(alike(word, other) >= _LIKE for other in content(name))
