"""Typed secrets: which texts must not be seen in traces and feedback, and dots in their place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from foretell.gui.actions import Action, Kind
from foretell.gui.claims import DOTS, HIDDEN_KEY
from foretell.gui.observation import Proposal
from foretell.gui.parse.keys import KNOWN, usual
from foretell.gui.secret_words import FROM, JOINTS, STATES, TO, TYPING, WEAK, WORDS, secret_looks

_WORDS = re.compile(WORDS, re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]+"|[“„][^”“\n]+[”“]|«[^»\n]+»|「[^」\n]+」|『[^』\n]+』|(?<!\w)\'[^\'\n]+\'(?!\w)')
_OPEN, _CLOSE = "\"'“”„«»「」『』", "”“»」』"
_SAID = (
    r"(?:\"(?P<a>[^\"\n]+)\"|[“„](?P<b>[^”“\n]+)[”“]|'(?P<c>[^'\n]+)'(?!\w)|«\s?(?P<d>[^»\n]+?)\s?»|"
    rf"[「『](?P<e>[^」』\n]+)[」』]|(?P<plain>[^\s{_OPEN}][^\s{_CLOSE}]*))"
)
_TOLD = re.compile(
    rf"(?P<kept>(?P<word>{WORDS})(?:\s+(?:code|number|value))?(?P<joint>\s*(?:{JOINTS})(?=\W|[^\x00-\x7f]|$))?"
    rf"(?:\s*(?P<mark>[:=：＝])\s*|\s+|(?<=[^\x00-\x7f]))){_SAID}",
    re.IGNORECASE,
)
_TYPED = re.compile(rf"(?P<kept>{TYPING}){_SAID}", re.IGNORECASE)
_PHRASE = r"\"[^\"\n]+\"|'[^'\n]+'|[“„«「][^”“»」\n]+[”“»」]|\S+"
_CHANGED = re.compile(
    rf"{WORDS}[^\n.;]{{0,60}}?{FROM}\s*(?P<old>{_PHRASE}?)\s*{TO}\s*(?P<new>{_PHRASE})", re.IGNORECASE
)
_FOLLOWING = """
    a an the this that these those it its them my your his her their our both same new old current correct wrong right
    first second next last following given some any one two no not and or but then so if when while where which who
    with without for from of to in into on onto at by as via is are was be been has have must should will can using
    field fields box boxes input inputs form forms page pages screen tab link button label text textbox area key keys
    manager managers reset recovery change changes hint hints policy settings setting option options protected prompt
    dialog window generator strength value values code codes number numbers data details letters characters list
    required requirements confirmation confirm login log sign enter type click press submit access open continue
    username user name names email e-mail account twice again here there above below please only too also now once
    before after
"""  # such a word, or a verb of typing, without being a secret
_ORDINARY = frozenset(_FOLLOWING.split())
_PUNCTUATION = ".,;:!?()[]"
_HIDES = frozenset((Kind.TYPE, Kind.ANSWER, Kind.KEY, Kind.NAVIGATE))
_HELD = frozenset(("ctrl", "alt", "meta"))  # with one of them a letter is a command
_WRITTEN_KEYS = frozenset(("plus", "minus", "space"))
_ANYWHERE_FROM = 4  # characters; shorter secrets are hidden only where they stand alone
_NO_TEXT = frozenset(("event", "kind", "error", "reason", "mode", "platform", "images", "screen", "critic"))


def mentions_secret(*texts: str | None) -> bool:
    """Whether any text speaks of a password, a PIN, a token or the like."""
    return any(text is not None and (_WORDS.search(text) is not None or any(secret_looks(text))) for text in texts)


def is_secret(proposal: Proposal, goal: str | None) -> bool:
    """Whether what the proposal types may be a secret: it or the goal says so, or it looks like one."""
    addresses = (action.text for action in proposal.actions if action.kind is Kind.NAVIGATE)
    return proposal.secret or mentions_secret(proposal.intent, goal, *addresses) or looks_secret(proposal)


def looks_secret(proposal: Proposal) -> bool:
    """Whether something that the proposal types is a secret by its looks: a token, a key, the number of a card."""
    return any(any(secret_looks(text)) for text in typed_texts(proposal))


def typed_texts(proposal: Proposal) -> tuple[str, ...]:
    """What the proposal would type, as far as it is long enough to be a secret by itself."""
    return tuple(a.text for a in proposal.actions if a.kind in _HIDES and a.text and len(a.text.strip()) > 1)


def typed_letters(action: Action) -> tuple[str, ...]:
    """The single letters that an action writes, as text or as keys: parts of a secret that is sent piece by piece."""
    alone = action.text is not None and len(action.text.strip()) == 1 and action.kind in _HIDES
    return ((action.text.strip(),) if alone and action.text else ()) + _written(action)


def hidden_action(action: Action) -> Action:
    """The action with dots for what it types. Keys that write nothing, such as enter or ctrl + a, are left."""
    if action.kind not in _HIDES:
        return action
    written = _written(action)
    keys = tuple(HIDDEN_KEY if key in written else key for key in action.keys)
    return replace(action, text=DOTS if action.text else action.text, keys=keys)


def hidden_proposal(proposal: Proposal) -> Proposal:
    """The proposal with dots for what it types and for the secrets that its intent tells, and without its raw text."""
    return replace(
        proposal,
        actions=tuple(hidden_action(action) for action in proposal.actions),
        intent=None if proposal.intent is None else hidden_words(proposal.intent),
        raw="",
    )


def hidden_goal(goal: str) -> str:
    """A goal with dots for the secrets that it tells, where it speaks of any."""
    return hidden_words(goal) if mentions_secret(goal) else goal


def hidden_words(text: str) -> str:
    """Dots for whatever a text that is about a secret quotes, or spells out after such a word or a verb of typing."""
    for begin, end in sorted(_spans(text), reverse=True):
        text = text[:begin] + DOTS + text[end:]
    return _QUOTED.sub(lambda m: f"{m.group(0)[0]}{DOTS}{m.group(0)[-1]}", text)


def told_secrets(text: str) -> tuple[str, ...]:
    """What a text that is about a secret tells of it, as far as it is surely none of the ordinary words."""
    return tuple(text[begin:end].strip(_PUNCTUATION) for begin, end in _spans(text, sure=True))


def spellings(text: str) -> set[str]:
    """A text by itself, and as it looks when quoted in Python, in JSON, or in JSON that is quoted in JSON."""
    quoted = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return {text, repr(text)[1:-1]} | quoted | {json.dumps(one)[1:-1] for one in quoted}


class Veil:
    """Remembers the secrets of an episode and puts dots in their place wherever they appear, however quoted.

    Those with fewer than `least` characters are not hidden: a single one would blot out half of every text.
    """

    def __init__(self, secrets: Iterable[str] = (), least: int = 2) -> None:
        self._least = least
        self._secrets: set[str] = set()
        self._patterns: list[re.Pattern[str]] = []
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Remember more of them."""
        new = {one.strip() for one in secrets if len(one.strip()) >= self._least} - self._secrets
        if new:
            self._secrets |= new
            spelled = {spelling for secret in self._secrets for spelling in spellings(secret)}
            self._patterns = [_pattern(one) for one in sorted(spelled, key=len, reverse=True)]

    def __contains__(self, text: str) -> bool:
        return text.strip() in self._secrets

    def __call__(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(DOTS, text)
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


def _pattern(secret: str) -> re.Pattern[str]:
    alone = len(secret) < _ANYWHERE_FROM
    return re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)" if alone else re.escape(secret), re.IGNORECASE)


def _written(action: Action) -> tuple[str, ...]:
    """The keys of an action that write something."""
    names = {key: usual(key) for key in action.keys}
    if action.kind is not Kind.KEY or _HELD & set(names.values()):
        return ()
    return tuple(key for key, name in names.items() if name not in KNOWN or name in _WRITTEN_KEYS)


def _spans(text: str, sure: bool = False) -> Iterator[tuple[int, int]]:
    """Where a text tells a secret; with `sure` a plain word after a verb of typing does not count as one."""
    known = sorted({*secret_looks(text), *_changed(text)})
    yield from known
    taken = -1
    found = [(match, pattern is _TOLD) for pattern in (_TOLD, _TYPED) for match in _matches(pattern, text)]
    for match, after_word in sorted(found, key=lambda pair: pair[0].end("kept")):
        quoted = next((name for name in "abcde" if match[name]), None)
        begin, end = match.span(quoted or "plain")
        told = quoted is not None or (_tells(match) if after_word else _tells_typed(match, sure))
        if told and begin >= taken and not any(begin < until and since < end for since, until in known):
            taken = end
            yield begin, end


def _changed(text: str) -> Iterator[tuple[int, int]]:
    """Both secrets of "from A to B", without the quotes and the punctuation around them."""
    for match in _CHANGED.finditer(text):
        for name in ("old", "new"):
            begin, end = match.span(name)
            while begin < end and text[begin] in _OPEN:
                begin += 1
            while begin < end and text[end - 1] in _OPEN + _PUNCTUATION:
                end -= 1
            if begin < end and not _is_ordinary(text[begin:end]):
                yield begin, end


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """All matches, those included that begin where an earlier one only supposed a secret."""
    match = pattern.search(text)
    while match is not None:
        yield match
        match = pattern.search(text, match.end("kept"))


def _tells(match: re.Match[str]) -> bool:
    """Whether the plain word after one such as "password" is a secret."""
    if _is_ordinary(match["plain"]):
        return False
    said_so = match["mark"] or (match["joint"] or "").strip().casefold() in STATES
    return bool(said_so or not WEAK.fullmatch(match["word"]) or re.search(r"\d", match["plain"]))


def _tells_typed(match: re.Match[str], sure: bool) -> bool:
    return not _is_ordinary(match["plain"]) and (not sure or re.search(r"\d", match["plain"]) is not None)


def _is_ordinary(word: str) -> bool:
    plain = word.strip(_PUNCTUATION).casefold()
    return not plain or plain in _ORDINARY or _WORDS.fullmatch(plain) is not None
