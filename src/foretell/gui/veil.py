"""Dots in the place of known secrets, in whatever spelling they appear."""

from __future__ import annotations

import html
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from foretell.gui.actions import Kind
from foretell.gui.claims import DOTS
from foretell.gui.judgement import ErrorClass
from foretell.gui.skeleton import Hidden, Skeleton, places
from foretell.gui.verdict import Mode, Reason

MOST_CHARACTERS = 20_000  # of a secret: what comes after is not known of it
_MOST_ESCAPED = 2_000  # characters of a secret that is also known as addresses, JSON and HTML spell it
_MOST_LINES = 400  # of a secret that are known by themselves as well
_LEAST_LINE = 12  # characters of such a line
_OURS: Mapping[str, frozenset[str]] = {  # words of our own by which a trace is read, and where they stand
    "kind": frozenset(Kind),
    "error": frozenset(ErrorClass),
    "reason": frozenset(Reason),
    "mode": frozenset(Mode),
    "platform": frozenset(("web", "desktop", "mobile")),
    "where": frozenset(("critic", "historian", "confirm", "trace")),
}
_HEXADECIMAL = frozenset("0123456789abcdef")


def spellings(text: str) -> set[str]:
    """A text as it stands and as it is escaped in Python, JSON (also within JSON), addresses and HTML.

    Of a very long text only its beginning and, each by itself, its lines.
    """
    text = text[:MOST_CHARACTERS]
    if len(text) > _MOST_ESCAPED:
        lines = [line.strip() for line in text.splitlines()[:_MOST_LINES]]
        return {text, *(line for line in lines if len(line) >= _LEAST_LINE)}
    forms = {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}
    return forms.union(*map(_escaped, forms))


def _escaped(text: str) -> set[str]:
    quoted = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    forms = {repr(text)[1:-1]} | quoted | {json.dumps(one)[1:-1] for one in quoted}
    forms |= {call(text, safe="", errors="replace") for call in (quote, quote_plus)} | {quote(text, errors="replace")}
    marked = {html.escape(text), html.escape(text, quote=False)}
    return forms | marked | {one.replace("&#x27;", "&#39;") for one in marked}


class Veil:
    """Remembers the secrets of an episode and puts dots in their place wherever they appear, however spelled.

    Those with fewer than `least` characters are not hidden: a single one would blot out half of every text. A secret is
    found by its `Skeleton`, and so is one that was cut.
    """

    def __init__(self, secrets: Iterable[str] = (), least: int = 2, dots: str = DOTS) -> None:
        self._least, self._dots = least, dots
        self._secrets: set[str] = set()
        self._known: Mapping[str, tuple[Hidden, ...]] = {}
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Remember more of them."""
        new = {one.strip() for one in secrets if len(one.strip()) >= self._least} - self._secrets
        if not new:
            return
        self._secrets |= new
        more: dict[str, dict[Hidden, None]] = {}
        for hidden in dict.fromkeys(Hidden.of(spelled) for each in new for spelled in spellings(each)):
            more.setdefault(hidden.seed, {})[hidden] = None
        merged = {seed: tuple(dict.fromkeys((*self._known.get(seed, ()), *added))) for seed, added in more.items()}
        # Replaced at once: a critic that was left behind may still be reading the old ones.
        self._known = {**self._known, **merged}

    def __contains__(self, text: str) -> bool:
        return text.strip() in self._secrets

    def __call__(self, text: str) -> str:
        if not self._known or not text:
            return text
        parts, at = [], 0
        for begin, end in places(Skeleton.of(text), self._known):
            parts += [text[at:begin], self._dots]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def data(self, value: Any, name: str = "") -> Any:
        """Plain JSON data with every text in it veiled but those words of our own by which it is read."""
        return told(value, self, name)


def told(value: Any, change: Callable[[str], str], name: str = "", names: bool = False) -> Any:
    """Plain JSON data with every text in it changed but those words of our own by which it is read.

    With `names` those of mappings are changed, too: they are not ours.
    """
    match value:
        case str():
            ours = value in _OURS.get(name, ()) or (name == "screen" and _is_digest(value))
            return value if ours else change(str(value))
        case Mapping():
            return {
                change(str(key)) if names else key: told(one, change, str(key), names) for key, one in value.items()
            }
        case list() | tuple():
            return [told(one, change, names=names) for one in value]
        case _:
            return value


def _is_digest(text: str) -> bool:
    return 8 <= len(text) <= 64 and _HEXADECIMAL.issuperset(text)
