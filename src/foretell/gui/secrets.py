"""Typed secrets: which texts must not be seen in traces and feedback, and dots in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from foretell.gui.actions import Action, Kind
from foretell.gui.claims import DOTS
from foretell.gui.observation import Proposal

_WORDS = re.compile(
    r"\b(pass(?:word|code|phrase|wd)?s?|pwd|pins?|secrets?|tokens?|api[ _-]?keys?|credentials?|cvv|cvc|"
    r"security (?:code|answer|number)s?|otp|one[- ]time code|2fa|private key|ssn|social security|iban|card number)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"[^"\n]+"|“[^”\n]+”|(?<!\w)\'[^\'\n]+\'(?!\w)')
_TOLD = re.compile(
    rf"(?P<kept>(?:{_WORDS.pattern})(?:\s+(?:is|as|of|to))?\s*[:=]?\s+)(?P<secret>[^\s\"'“”]*\d[^\s\"'“”]*)",
    re.IGNORECASE,
)
_HIDES = frozenset((Kind.TYPE, Kind.ANSWER, Kind.KEY))
_ANYWHERE_FROM = 4  # characters; shorter secrets are hidden only where they stand alone
_NO_TEXT = frozenset(("event", "kind", "error", "reason", "mode", "platform", "images", "screen", "critic"))


def mentions_secret(*texts: str | None) -> bool:
    """Whether any text speaks of a password, a PIN, a token or the like."""
    return any(text is not None and _WORDS.search(text) is not None for text in texts)


def typed_texts(proposal: Proposal) -> tuple[str, ...]:
    """What the proposal would type, as far as it is long enough to be a secret."""
    return tuple(a.text for a in proposal.actions if a.kind in _HIDES and a.text and len(a.text.strip()) > 1)


def hidden_action(action: Action) -> Action:
    """The action with dots for what it types."""
    return replace(action, text=DOTS) if action.kind in _HIDES and action.text else action


def hidden_goal(goal: str) -> str:
    """A goal that speaks of a secret, with dots for whatever it quotes or spells out after such a word."""
    if not mentions_secret(goal):
        return goal
    told = _TOLD.sub(lambda m: f"{m.group('kept')}{DOTS}", goal)
    return _QUOTED.sub(lambda m: f"{m.group(0)[0]}{DOTS}{m.group(0)[-1]}", told)


class Veil:
    """Remembers the secrets of an episode and puts dots in their place wherever they appear."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Remember more of them; a single character is not hidden, as it would blot out half of every text."""
        self._secrets |= {one.strip() for one in secrets if len(one.strip()) > 1}

    def __contains__(self, text: str) -> bool:
        return text.strip() in self._secrets

    def __call__(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            alone = len(secret) < _ANYWHERE_FROM
            pattern = rf"(?<!\w){re.escape(secret)}(?!\w)" if alone else re.escape(secret)
            text = re.sub(pattern, DOTS, text, flags=re.IGNORECASE)
        return text

    def data(self, value: Any) -> Any:
        """Plain JSON data with every free text in it veiled."""
        match value:
            case str():
                return self(value)
            case Mapping():
                return {name: one if name in _NO_TEXT else self.data(one) for name, one in value.items()}
            case list() | tuple():
                return [self.data(one) for one in value]
            case _:
                return value
