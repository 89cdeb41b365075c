"""Secrets that are typed piece by piece: key by key, box by box, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.parse.keys import KNOWN, usual

_HELD = frozenset(("ctrl", "alt", "meta"))  # with one of them a letter is a command
_WRITTEN_KEYS = {"plus": "+", "minus": "-", "space": " "}
_LEAVING = frozenset(("enter", "tab"))
_MOST_PIECES, _MOST_BEGINNINGS = 200, 12
_LEAST_CHARACTERS = 4  # of pieces joined: fewer would blot out ordinary words


def written_keys(action: Action) -> tuple[str, ...]:
    """The keys of an action that write something, by the names it gives them."""
    names = {key: usual(key) for key in action.keys}
    if action.kind is not Kind.KEY or _HELD & set(names.values()):
        return ()
    return tuple(key for key, name in names.items() if name not in KNOWN or name in _WRITTEN_KEYS)


def written(action: Action) -> str:
    """What an action writes into whatever has the focus."""
    if action.kind is Kind.TYPE:
        return (action.text or "").strip()
    return "".join(_WRITTEN_KEYS.get(usual(key), usual(key)) for key in written_keys(action))


@dataclass(frozen=True)
class Pieces:
    """What was written latest, each piece with whether a field or a line began with it."""

    latest: tuple[tuple[str, bool], ...] = ()
    begins: bool = True

    def after(self, actions: Sequence[Action]) -> Pieces:
        """These and what the actions write."""
        latest, begins = list(self.latest), self.begins
        for action in actions:
            names = {usual(key) for key in action.keys}
            if action.kind is Kind.KEY and names == {"backspace"} and latest:
                latest.pop()
            elif text := written(action):
                latest.append((text, begins or len(text) > 1))
                begins = len(text) > 1
            elif action.kind in CLICKS or (action.kind is Kind.KEY and names & _LEAVING):
                begins = True
        return Pieces(tuple(latest[-_MOST_PIECES:]), begins)

    def joined(self) -> Iterator[str]:
        """The pieces up to the last, from each of the latest beginnings on."""
        beginnings = [at for at, (_, begins) in enumerate(self.latest) if begins or not at]
        for at in beginnings[-_MOST_BEGINNINGS:]:
            whole = "".join(text for text, _ in self.latest[at:])
            if len(self.latest) - at > 1 and len(whole) >= _LEAST_CHARACTERS:
                yield whole
