"""Knobs as they are found in a source, gathered into a space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foretell.kernels.propose.knobs.kinds import Kind, ladder
from foretell.kernels.propose.knobs.space import MOST_KNOBS, Edit, Knob, Limit, Setting, Site, Slot, Space
from foretell.kernels.tune.encode import Value


class Findings:
    """Collects knobs, their edits, limits and first settings."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._knobs: dict[str, Knob] = {}
        self._edits: list[Edit] = []
        self._taken: list[tuple[int, int]] = []
        self._limits: list[tuple[frozenset[str], Limit]] = []
        self._first: list[Setting] = []

    def add(
        self,
        name: str,
        kind: Kind,
        base: Value,
        sites: Iterable[Site],
        values: Sequence[Value] | None = None,
    ) -> str | None:
        """Add a knob; its name, which has a number if another constant has that name and another value.

        A text that another knob sets is left to that one; returns None if nothing is left, or there is only one value
        to try.
        """
        found = tuple(values) if values is not None else ladder(kind, int(base))
        free = [one for one in sites if not any(one.start < end and start < one.end for start, end in self._taken)]
        if len(found) < 2 or not free:
            return None
        chosen, number = name, 2
        while (there := self._knobs.get(chosen)) is not None and there.base != base:
            chosen, number = f"{name}#{number}", number + 1
        if there is None:
            self._knobs[chosen] = Knob(chosen, kind, base, found)
        for site in free:
            self._edits.append(site.edit(chosen))
            self._taken.append((site.start, site.end))
        return chosen

    def rewrite(self, start: int, end: int, pieces: tuple[str | Slot, ...], knobs: Sequence[Knob]) -> None:
        """Add knobs whose text in the source is no setting of theirs: it is always replaced by `pieces`."""
        for knob in knobs:
            self._knobs[knob.name] = knob
        self._edits.append(Edit(start, end, pieces, always=True))
        self._taken.append((start, end))

    def unused(self, name: str) -> str:
        """The name, with a number if another knob has it."""
        number, chosen = 2, name
        while chosen in self._knobs:
            chosen, number = f"{name}#{number}", number + 1
        return chosen

    def limit(self, knobs: Iterable[str], limit: Limit) -> None:
        """Refuse settings; the limit counts as long as all these knobs are in the space."""
        self._limits.append((frozenset(knobs), limit))

    def start_with(self, settings: Iterable[Setting]) -> None:
        """Settings of the knobs of a `rewrite` that are to be tried first."""
        self._first += settings

    def space(self) -> Space:
        """All that was found, the least rewarding kinds left out if there are more than MOST_KNOBS."""
        always = {name for edit in self._edits if edit.always for name in edit.knobs}
        order = list(Kind)
        ranked = sorted(self._knobs.values(), key=lambda knob: (knob.name not in always, order.index(knob.kind)))
        kept = {knob.name for knob in ranked[: max(MOST_KNOBS, len(always))]}
        knobs = tuple(knob for knob in self._knobs.values() if knob.name in kept)
        edits = tuple(edit for edit in self._edits if set(edit.knobs) <= kept)
        limits = tuple(limit for names, limit in self._limits if names <= kept)
        base = {knob.name: knob.base for knob in knobs}
        return Space(self._source, knobs, edits, limits, tuple({**base, **setting} for setting in self._first))
