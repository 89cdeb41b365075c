"""Where a text tells a secret: by its looks, after or before a word for one, quoted, or as the new one for an old."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from foretell.gui.secret_looks import secret_looks
from foretell.gui.secret_words import (
    ARTICLE,
    BEFORE,
    FROM,
    INTO,
    JOINED_LETTER,
    JOINTS,
    MADE,
    STATES,
    SUFFIX,
    TO,
    TYPING,
    WEAK,
    WORDS,
)
from foretell.gui.skeleton import merged

WORD = re.compile(WORDS, re.IGNORECASE)
OPEN, CLOSE = "\"'“”„«»「」『』", "”“»」』"
PUNCTUATION = ".,;:!?()[]"
_MOST = 300  # characters of a secret that is told; bounds the time that the patterns take
_GAP = r"\s{0,8}"
_SAID = (
    rf"(?:\"(?P<a>[^\"\n]{{1,{_MOST}}})\"|[“„](?P<b>[^”“„\n]{{1,{_MOST}}})[”“]|'(?P<c>[^'\n]{{1,{_MOST}}})'(?!\w)|"
    rf"«\s?(?P<d>[^«»\n]{{1,{_MOST}}}?)\s?»|[「『](?P<e>[^「『」』\n]{{1,{_MOST}}})[」』]|"
    rf"(?P<plain>[^\s{OPEN}][^\s{CLOSE}]{{0,{_MOST}}}))"
)
_TOLD = re.compile(
    rf"(?P<kept>(?P<word>{WORDS})(?:\s{{1,8}}(?:code|number|value)|{SUFFIX})?(?P<joint>{_GAP}(?:{JOINTS})(?=\W|[^\x00-\x7f]|$))?"
    rf"(?:{_GAP}(?P<mark>[:=：＝]){_GAP}|\s{{1,8}}|(?<=[^\x00-\x7f]))){_SAID}",
    re.IGNORECASE,
)
_TYPED = re.compile(rf"(?P<kept>{TYPING}){_SAID}", re.IGNORECASE)
_MADE = re.compile(rf"(?P<kept>{MADE}){_SAID}", re.IGNORECASE)
_BEFORE_AT = re.compile(rf"\s{BEFORE}\s", re.IGNORECASE)
_BEFORE_WORD = re.compile(
    rf"\s{BEFORE}\s{{1,8}}(?:{ARTICLE}\s{{1,8}})?(?:[^\W\d]{{1,20}}\s{{1,8}})?{WORDS}", re.IGNORECASE
)
_PHRASE = rf"\"[^\"\n]{{1,{_MOST}}}\"|'[^'\n]{{1,{_MOST}}}'|[“„«「][^“„«「”»」\n]{{1,{_MOST}}}[”“»」]|\S{{1,80}}"
_CHANGED = re.compile(
    rf"{WORDS}[^\n.;]{{0,60}}?{FROM}{_GAP}(?P<old>{_PHRASE}?){_GAP}{TO}{_GAP}(?P<new>{_PHRASE})", re.IGNORECASE
)
_REPLACED = re.compile(
    rf"{WORDS}(?:\s{{1,8}}[^\W\d]{{1,20}})?\s{{1,8}}(?P<old>{_PHRASE})\s{{0,8}}{INTO}\s{{0,8}}(?P<new>{_PHRASE})",
    re.IGNORECASE,
)
_RUN = re.compile(r"[^\s\u2e80-\uffff]{1,80}")
_NAMING = re.compile(r"(?i:\b(?:as|user|username|login|account|name|benutzer|als|email|id|number|version)\W{1,3})$")
_SIZED = re.compile(
    r"\W*\d+(?:[.,:]\d+)*(?:st|nd|rd|th|-?digit|px|[kmgt]i?b|[ap]m|min|h|s|ms|x\d+|€|\$)?\W*", re.IGNORECASE
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
    before after file line what reminder file's placeholder expired expires
"""  # such a word, or a verb of typing, without being a secret
_ORDINARY = frozenset(_FOLLOWING.split())


def spans(text: str, sure: bool = False) -> list[tuple[int, int]]:
    """Where a text tells a secret, in order and apart; with `sure` a plain word after a verb of typing is none.

    The text is expected to be `composed`.
    """
    found = list(secret_looks(text))
    speaks = WORD.search(text) is not None
    exact = merged([*found, *_changed(_CHANGED, text), *_changed(_REPLACED, text)]) if speaks else merged(found)
    begins = [begin for begin, _ in exact]
    supposed = []
    for begin, end in _told(text, sure):
        at = bisect_left(begins, end) - 1
        if at < 0 or exact[at][1] <= begin:  # otherwise it is known better what is told there
            supposed.append((begin, end))
    return merged([*exact, *supposed, *_before(text), *_odd(text)] if speaks else [*exact, *supposed])


def _told(text: str, sure: bool) -> Iterator[tuple[int, int]]:
    taken = -1
    patterns = (_TOLD, _TYPED, _MADE) if WORD.search(text) is not None else (_TYPED,)
    found = [(match, pattern) for pattern in patterns for match in _matches(pattern, text)]
    for match, pattern in sorted(found, key=lambda pair: pair[0].end("kept")):
        quoted = next((name for name in "abcde" if match[name]), None)
        begin, end = match.span(quoted or "plain")
        if pattern is _TOLD:
            told = quoted is not None or _tells(match)
        else:
            told = quoted is not None or _tells_typed(match, sure and pattern is _TYPED)
        if told and begin >= taken:
            taken = end
            yield begin, end


def _before(text: str) -> Iterator[tuple[int, int]]:
    """What stands before "as the password". After "for" it must be odd: one asks somebody for a password, too."""
    for at in _BEFORE_AT.finditer(text):
        line = text.rfind("\n", 0, at.start()) + 1
        start = max(line, at.start() - 80)
        match = next((m for m in _ending(text, start, at.start())), None)
        if match is None or _BEFORE_WORD.match(text, at.start()) is None:
            continue
        begin, end = match
        plain = text[begin:end]
        if not is_ordinary(plain) and (" for " not in at.group().casefold() or is_odd(plain)):
            yield begin, end


def _ending(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The last word, or what is quoted last, of a part of a text."""
    part = text[start:end].rstrip()
    if part and part[-1] in OPEN:
        opened = max((part.rfind(mark, 0, len(part) - 1) for mark in OPEN), default=-1)
        if opened >= 0:
            yield start + opened + 1, start + len(part) - 1
        return
    at = max(part.rfind(" "), part.rfind("\t")) + 1
    if part[at:]:
        yield start + at, start + len(part)


def _changed(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Both secrets of "from A to B", without the quotes and the punctuation around them."""
    for match in pattern.finditer(text):
        for name in ("old", "new"):
            begin, end = match.span(name)
            while begin < end and text[begin] in OPEN:
                begin += 1
            while begin < end and text[end - 1] in OPEN + PUNCTUATION:
                end -= 1
            if begin < end and not is_ordinary(text[begin:end]):
                yield begin, end


def _odd(text: str) -> Iterator[tuple[int, int]]:
    """Words of letters and figures in a text that speaks of a secret, but for names, addresses and sizes."""
    for match in _RUN.finditer(text):
        begin, end = match.span()
        while begin < end and text[begin] in OPEN + PUNCTUATION:
            begin += 1
        while begin < end and text[end - 1] in OPEN + PUNCTUATION:
            end -= 1
        if is_odd(text[begin:end]) and _NAMING.search(text[max(0, begin - 16) : begin]) is None:
            yield begin, end


def is_odd(word: str) -> bool:
    """Whether a word mixes letters and figures as hardly any but a secret does."""
    if len(word) < 5 or any(mark in word for mark in ("@", "/", "://")) or _SIZED.fullmatch(word):
        return False
    mixed = any(c.isalpha() for c in word) and any(c.isdigit() for c in word)
    return mixed and re.search(r"\.[A-Za-z]{2,4}$", word) is None and WORD.search(word) is None


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """All matches, those included that begin where an earlier one only supposed a secret."""
    match = pattern.search(text)
    while match is not None:
        yield match
        match = pattern.search(text, max(match.end("kept"), match.start() + 1))


def _tells(match: re.Match[str]) -> bool:
    """Whether the plain word after one such as "password" is a secret."""
    if is_ordinary(match["plain"]):
        return False
    said_so = match["mark"] or (match["joint"] or "").strip().casefold() in STATES
    if not said_so and JOINED_LETTER.match(match["plain"]):
        return False  # in these scripts it is the sentence that goes on
    return bool(said_so or not WEAK.fullmatch(match["word"]) or re.search(r"\d", match["plain"]))


def _tells_typed(match: re.Match[str], sure: bool) -> bool:
    return not is_ordinary(match["plain"]) and (not sure or re.search(r"\d", match["plain"]) is not None)


def is_ordinary(word: str) -> bool:
    """Whether a word after one for a secret is part of the sentence."""
    plain = word.strip(PUNCTUATION).casefold()
    return not plain or plain in _ORDINARY or WORD.fullmatch(plain) is not None
