"""Dots in the place of known secrets, in whatever spelling they appear."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from foretell.gui.actions import Kind
from foretell.gui.claims import DOTS
from foretell.gui.judgement import ErrorClass
from foretell.gui.verdict import Mode, Reason

_ANYWHERE_FROM = 4  # characters; shorter secrets are hidden only where they stand alone
_OURS: Mapping[str, frozenset[str]] = {  # words of our own by which a trace is read, and where they stand
    "kind": frozenset(Kind),
    "error": frozenset(ErrorClass),
    "reason": frozenset(Reason),
    "mode": frozenset(Mode),
    "platform": frozenset(("web", "desktop", "mobile")),
    "where": frozenset(("critic", "historian", "confirm", "trace")),
}
_DIGEST = re.compile(r"[0-9a-f]{8,64}")


def spellings(text: str) -> set[str]:
    """A text as it stands and as it looks in Python, JSON (also within JSON), addresses and HTML, composed or not."""
    forms = {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}
    found = set(forms)
    for form in forms:
        quoted = {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
        found |= {repr(form)[1:-1]} | quoted | {json.dumps(one)[1:-1] for one in quoted}
        found |= {call(form, safe="", errors="replace") for call in (quote, quote_plus)} | {
            quote(form, errors="replace")
        }
        escaped = {html.escape(form), html.escape(form, quote=False)}
        found |= escaped | {one.replace("&#x27;", "&#39;") for one in escaped}
    return found


class Veil:
    """Remembers the secrets of an episode and puts dots in their place wherever they appear, however spelled.

    Those with fewer than `least` characters are not hidden: a single one would blot out half of every text.
    """

    def __init__(self, secrets: Iterable[str] = (), least: int = 2, dots: str = DOTS) -> None:
        self._least, self._dots = least, dots
        self._secrets: set[str] = set()
        self._patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Remember more of them."""
        new = {one.strip() for one in secrets if len(one.strip()) >= self._least} - self._secrets
        if new:
            self._secrets |= new
            known = dict(self._patterns) | {_plain(one): _pattern(one) for each in new for one in spellings(each)}
            # Replaced at once: a critic that was left behind may still be reading the old ones.
            self._patterns = tuple(sorted(known.items(), key=lambda pair: len(pair[0]), reverse=True))

    def __contains__(self, text: str) -> bool:
        return text.strip() in self._secrets

    def __call__(self, text: str) -> str:
        plain = _plain(text)
        for spelled, pattern in self._patterns:
            if spelled in plain:  # much quicker than the pattern
                text = pattern.sub(self._dots, text)
        return text

    def data(self, value: Any, name: str = "") -> Any:
        """Plain JSON data with every text in it veiled but those words of our own by which it is read."""
        return told(value, self, name)


def told(value: Any, change: Callable[[str], str], name: str = "") -> Any:
    """Plain JSON data with every text in it changed but those words of our own by which it is read."""
    match value:
        case str():
            ours = value in _OURS.get(name, ()) or (name == "screen" and _DIGEST.fullmatch(value))
            return value if ours else change(str(value))
        case Mapping():
            return {key: told(one, change, str(key)) for key, one in value.items()}
        case list() | tuple():
            return [told(one, change) for one in value]
        case _:
            return value


def _plain(text: str) -> str:
    """For a first look, whatever the case."""
    return text.lower().replace("ſ", "s").replace("i\u0307", "i").replace("ı", "i")


def _pattern(secret: str) -> re.Pattern[str]:
    alone = len(secret) < _ANYWHERE_FROM
    return re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)" if alone else re.escape(secret), re.IGNORECASE)
