"""Secrets that are typed piece by piece: key by key, box by box, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.parse.keys import KNOWN, usual

_HELD = frozenset(("ctrl", "alt", "meta"))  # with one of them a letter is a command
_WRITTEN_KEYS = {"plus": "+", "minus": "-", "space": " "} | {
    "kp_add": "+", "kp_subtract": "-", "kp_multiply": "*", "kp_divide": "/", "kp_decimal": "."
}  # fmt: skip
_WRITTEN_KEYS |= {f"kp_{digit}": str(digit) for digit in range(10)}
_LEAVING = frozenset(("enter", "tab"))
_STEPS = {"left": 1, "right": -1}
_MOVING = frozenset((*_STEPS, "home", "end"))
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
    """What was written latest, each piece with whether a field or a line began with it.

    `behind` counts the pieces after the caret, where arrow keys have moved it back. `begins` says that the next piece
    is the first of a field or a line.
    """

    latest: tuple[tuple[str, bool], ...] = ()
    begins: bool = True
    behind: int = 0

    def after(self, actions: Sequence[Action]) -> Pieces:
        """These and what the actions write."""
        latest, begins, behind = list(self.latest), self.begins, self.behind
        for action in actions[-_MOST_PIECES:]:
            names = {usual(key) for key in action.keys} if action.kind is Kind.KEY else set()
            caret = len(latest) - behind
            if len(names) == 1 and names <= _MOVING:
                behind = min(max(behind + _STEPS.get(min(names), 0), 0), len(latest))
                behind = 0 if names == {"end"} else _since_beginning(latest) if names == {"home"} else behind
            elif names == {"backspace"}:
                del latest[max(0, caret - 1) : caret]
            elif names == {"delete"}:
                del latest[caret : caret + 1]
                behind = len(latest) - caret
            elif text := written(action):
                latest.insert(caret, (text, begins or len(text) > 1))
                begins = len(text) > 1
            elif action.kind in CLICKS or names & _LEAVING:
                begins, behind = True, 0
        return Pieces(tuple(latest[-_MOST_PIECES:]), begins, min(behind, _MOST_PIECES))

    def joined(self) -> Iterator[str]:
        """The pieces up to the last, from each of the latest beginnings on."""
        beginnings = [at for at, (_, begins) in enumerate(self.latest) if begins or not at]
        for at in beginnings[-_MOST_BEGINNINGS:]:
            whole = "".join(text for text, _ in self.latest[at:])
            if len(self.latest) - at > 1 and len(whole) >= _LEAST_CHARACTERS:
                yield whole


def _since_beginning(latest: Sequence[tuple[str, bool]]) -> int:
    """How many pieces there are from the latest beginning on."""
    return next((back for back, (_, begins) in enumerate(reversed(latest), start=1) if begins), len(latest))
