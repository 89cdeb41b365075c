"""Whether an agent says of something it presses or drags that it cannot be taken back. Pure.

An irreversible verb counts wherever it stands, unless what is acted on is named and is not irreversible itself ("click
the To field to send the mail"), or the intent only looks ("open the Delete dialog"). A name that agrees to anything
("OK", "Confirm") or is a picture ("the trash icon") does what the intent says it does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from foretell.gui.final_forms import BINS, INTO, NEGATIONS, NOUNS_TOO, VERBS
from foretell.gui.final_labels import acts_at, carries_out, holds_phrase, holds_unspaced, is_final_label, words_of
from foretell.gui.target import target_of
from foretell.gui.wording import folded, is_unspaced, word_list

_LEAD = r"(?:(?:now|next|first|then|please|i|we|i'll|let|me|us|to|need|want|should|must|will|am|going)[\s,]+)*"
_LOOKS = re.compile(
    rf"^{_LEAD}(?:open|opens|opening|expand|show|view|reveal|find|locate|look|search|scroll|hover|focus|go(?!\s+ahead)|"
    r"navigate|return|switch|see|read|visit|close|dismiss|sort|filter|打开|开启|開く)\b",
    re.IGNORECASE,
)
_THEN = re.compile(r"\s*(?:[,;]\s*(?:and\s+)?(?:then\s+)?|\s(?:and\s+)?then\s+|\sand\s+)", re.IGNORECASE)
_NOT_NAMED = re.compile(r"\s+(?:instead|rather|without|not|before|after|so|which|that)\b.*", re.IGNORECASE)
_PURPOSE = re.compile(r"\s+(?:in order to|to)\s+", re.IGNORECASE)
_PICTURE = r"\s+(?:icon|symbol|image|glyph|logo|sign|arrow|picture)s?\b"
_CONTAINERS = frozenset(
    word_list("dialog dialogue menu panel confirmation screen options settings prompt popup window")
)  # "the delete dialog" deletes nothing
_DENIES = NEGATIONS | frozenset(word_list("instead rather cannot can't prevent whether"))
_LATER = frozenset(("later", "afterwards", "eventually", "soon"))
_MOTIONS = frozenset(word_list("go goes going scroll navigate back return move next get switch proceed continue jump"))
_AGREES = frozenset(
    folded(word)
    for word in word_list(
        "ok okay yes confirm submit accept agree remove finish done proceed enter return space spacebar key ja oui si "
        "sim da aceptar accepter bestätigen confirmer confirmar conferma подтвердить 确认 确定 提交 是 はい 確認 확인"
    )
)
_OPENS = frozenset(
    word_list(
        "menu dots dot more hamburger kebab ellipsis settings gear cog search magnifier calendar dropdown down chevron "
        "close back edit pencil attach plus add filter help info profile user avatar home next previous forward"
    )
)  # pictures that lead to other things
_PICTURES = frozenset(
    word_list(
        "trash bin garbage can checkmark check tick mark plane paper arrow x icon symbol button focused highlighted "
        "selected default primary big large small round rounded"
    )
)
_FIELDS = frozenset(
    word_list("field textbox textarea input box bar menu dropdown list tab checkbox radio heading cell row")
)
_PRESS = re.compile(
    rf"^{_LEAD}(?:click|press|tap|hit|select|choose|pick|push|double[- ]click|left[- ]click)(?:ing|s)?\s+"
    r"(?:on\s+)?(?:the\s+)?(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_TEXTS = frozenset(
    word_list(
        "text texts character characters letter letters word words content contents value query digit digits input "
        "line typo field number placeholder entry"
    )
)  # what is edited, and typed again at will
_DELETES = word_list("delet eras losch supprim effac elimin borr apag exclu удал verwijder usun")


@lru_cache(maxsize=1024)
def says_final(intent: str) -> bool:
    """Whether an intent says so of one thing that is pressed."""
    if _LOOKS.match(intent):
        later = _THEN.split(intent)[1:]
        return any(not target_of(clause).names and _acts(clause) for clause in later)
    target = target_of(intent)
    names = target.names if target.exact else tuple(filter(None, map(_named, target.names)))
    pressed = _PRESS.match(intent)
    if any(is_final_label(name) for name in names):
        return True
    if pressed and not target.exact and len(words_of(pressed["rest"])) > 5 and is_final_label(pressed["rest"]):
        return True
    if pressed and not names and not (_FIELDS | _OPENS).isdisjoint(words_of(_PURPOSE.split(pressed["rest"])[0])):
        return False
    if not names or _is_open_to_anything(names[-1], intent):
        return _acts(intent)
    return False


def says_final_in_part(intent: str) -> bool:
    """Whether it says so of one of several things that are done."""
    return any(says_final(clause) for clause in _THEN.split(intent) if clause.strip())


@lru_cache(maxsize=1024)
def names_final(intent: str) -> bool:
    """Whether what an intent acts on has a name that is irreversible."""
    target = target_of(intent)
    return not _LOOKS.match(intent) and any(is_final_label(name) for name in map(_named, target.names) if name)


@lru_cache(maxsize=1024)
def drags_to_delete(intent: str) -> bool:
    """Whether something is dragged to be deleted, or into a bin."""
    words = words_of(intent)
    if "select" in words or "highlight" in words:
        return False
    deletes = any(
        word.startswith(_DELETES) and not NEGATIONS.intersection(words[max(0, at - 2) : at])
        for at, word in enumerate(words)
    )
    return deletes or bool(_into(words)) or holds_unspaced(intent)


def edits_text(intent: str) -> bool:
    """Whether what is deleted is a text that is being edited: it can be typed again."""
    return not _TEXTS.isdisjoint(words_of(intent))


def _into(words: tuple[str, ...]) -> list[int]:
    """Where a bin is named as a goal: after a word of direction."""
    found = [at for at, word in enumerate(words) if word in BINS]
    return [at for at in found if INTO & {*words[:at]}]


def _named(reading: str) -> str:
    """A reading of a name without what follows it; what it is for belongs to it only in set phrases."""
    name = _NOT_NAMED.sub("", reading)
    parts = _PURPOSE.split(name, maxsplit=1)
    return name if len(parts) < 2 or holds_phrase(words_of(name)) else parts[0]


def _is_open_to_anything(name: str, intent: str) -> bool:
    """Whether a name says nothing of what a press does: one that agrees, or that of a picture."""
    words = frozenset(words_of(_named(name)))
    if words and words <= _AGREES:
        return True
    pictured = re.search(re.escape(name) + _PICTURE, intent, re.IGNORECASE)
    return (bool(pictured) and words.isdisjoint(_OPENS)) or (bool(words) and words <= _PICTURES)


def _acts(text: str) -> bool:
    """Whether a text says anywhere that something irreversible is done now."""
    words = words_of(text)
    return (
        any(_is_verb(words, at) and _is_done(words, at) for at in range(len(words)))
        or (holds_phrase(words) and _LATER.isdisjoint(words))
        or carries_out(words)
        or (any(map(is_unspaced, text)) and holds_unspaced(text))
    )


def _is_verb(words: tuple[str, ...], at: int) -> bool:
    if acts_at(words, at):
        return True
    word, before = words[at], words[at - 1] if at else ""
    if word not in NOUNS_TOO:
        return _plain(word) in VERBS - NOUNS_TOO or (_plain(word) in NOUNS_TOO and before == "which")
    commands = before in ("and", "then", "will", "now", "i", "&") or (len(before) > 4 and before.endswith("ly"))
    return commands or (before == "to" and at > 1 and words[at - 2] not in _MOTIONS)


def _is_done(words: tuple[str, ...], at: int) -> bool:
    """Whether a verb is neither denied nor put off, and is no part of a name."""
    before, after = words[max(0, at - 2) : at], words[at + 1 :]
    if words[at].endswith("ing") and before[-1:] in (("before",), ("after",)):
        return False
    return _DENIES.isdisjoint(before) and _LATER.isdisjoint(after) and _CONTAINERS.isdisjoint(after[:1])


def _plain(word: str) -> str:
    """An English verb without its ending: "deleting", "sends"."""
    for ending in ("ing", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            return stem if stem in VERBS or stem in NOUNS_TOO or ending == "s" else stem + "e"
    return word
