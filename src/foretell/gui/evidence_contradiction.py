"""What a page says of a contradiction that was read off the pixels: it confirms it, refutes it, or finds its own."""

from __future__ import annotations

from dataclasses import replace

from foretell.gui.actions import CLICKS, Action
from foretell.gui.contradiction import Contradiction
from foretell.gui.evidence import ElementAt, Evidence, is_called
from foretell.gui.judgement import ErrorClass
from foretell.gui.namesakes import row_names
from foretell.gui.quoting import quoted
from foretell.gui.target import target_of
from foretell.gui.wording import folded, part_of, tokens

CONFIRMED = 0.998  # chance that a click is wrong whose label or row the page, too, says is another


def against_page(evidence: Evidence | None, action: Action, intent: str | None, found: Contradiction) -> Contradiction:
    """The contradiction after the evidence; as it was `found` where the page says nothing of the element."""
    here = evidence.at.get(action.point) if evidence is not None and action.point is not None else None
    if evidence is None or here is None or action.kind not in CLICKS or not intent or not tokens(here.name):
        return found
    if not is_called(here.name, intent):
        named_otherwise = found.strength > 0 and found.error is not ErrorClass.CONSTRAINT
        return replace(found, strength=CONFIRMED) if named_otherwise else Contradiction(agrees=found.agrees)
    rows = row_names(target_of(intent).context)
    if any(part_of(phrase, here.context) > 0.99 for phrase in rows):
        return Contradiction(agrees=found.agrees, named=True)
    if found.error is ErrorClass.CONSTRAINT:
        return replace(found, strength=CONFIRMED)
    twins = [one for one in evidence.seen or () if one != here and folded(one.name) == folded(here.name)]
    other = _row_of(twins, rows) if here.context else None
    if other is None:
        return Contradiction(agrees=found.agrees, named=True)
    count = f"There are {len(twins) + 1} things called {quoted(here.name)}"
    sentence = f"{count}; this one is not that of {quoted(other)}."
    return Contradiction(CONFIRMED, ErrorClass.CONSTRAINT, sentence, found.agrees, named=True)


def _row_of(twins: list[ElementAt], rows: tuple[str, ...]) -> str | None:
    """The first phrase that a twin's row or section is called by; None if there is none."""
    return next((phrase for phrase in rows if any(part_of(phrase, one.context) > 0.99 for one in twins)), None)
