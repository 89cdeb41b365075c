"""Whether a label names something that cannot be taken back. Pure.

A label has up to five words, of which one is irreversible; up to twelve, where an irreversible verb begins what it says
("I understand the consequences, delete this repository"). Longer texts, and sentences, are no labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from foretell.gui.final_forms import (
    AFTER_NOUN,
    ALONE,
    BETWEEN,
    CARRIED_OUT,
    CARRIES_OUT,
    CONSENTS,
    DELETION_NOUNS,
    DELETIONS,
    GRAVE,
    HARMLESS,
    KOREAN,
    KOREAN_ENDINGS,
    LEAD_INS,
    LIGHT_ALONE,
    NEGATIONS,
    NOUNS_TOO,
    PHRASES,
    PRONOUNS,
    UNSPACED,
    UNSPACED_BEFORE,
    UNSPACED_NOUNS,
    VERBS,
)
from foretell.gui.lexicon import FINAL
from foretell.gui.wording import folded, word_list

_SHORT, _LONGEST = 5, 12  # words
_UNSPACED_CHARACTERS, _UNSPACED_COMMAND = 12, 24  # the latter where the label begins with the verb
_LONG = tuple(word for word in FINAL - GRAVE.keys() if len(word) >= 6)  # shorter words have too many neighbours
_NO_MISREADINGS = frozenset(("verwenden",))  # "use", beside the Dutch "verzenden"
_THIN = frozenset("il")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|&")
_PARTS = re.compile(r"[,;:!?.–—](?=\s|$)|[，。！？：；–—]|\s-\s")
_CLAUSES = re.compile(r"[,;:!–—]|\s-\s|(?<=understand)\s+and\b|(?<=agree)\s+and\b|(?<=yes)\s+and\b", re.IGNORECASE)
_SENTENCE = re.compile(r"\.(?:\s|$)|\?\s")
_NOTES = re.compile(r"\bpost-its?\b", re.IGNORECASE)
_MIXED = str.maketrans("асеорхуіѕԁһӏкмтнвАСЕОРХУІЅКМТНВ", "aceopxyisdhlkmthbaceopxyiskmthb")  # Cyrillic look-alikes
_INFINITIVES = ("en", "ern")  # German and Dutch ones stand at the end of what they say
_EXPLAINS = frozenset(word_list("to how when where why what"))  # "how to delete" begins a text that explains
_GOES_ON = frozenset(("of", "is"))  # after the noun of what is carried out: "confirm payment of 5"
_REFUSALS = frozenset(("no", "non", "nein"))  # what follows a comma after them is another thing
_WISHES = frozenset(word_list("want like need going agree click tap press slide swipe hold have"))  # before "to delete"
_NOT_BEFORE_LAST = frozenset(("zu", "to", "te", "om", "sie", "wir"))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a label or an intent, folded; signs that nobody sees are none, nor look-alikes within a word."""
    seen = "".join(c for c in _NOTES.sub("notes", text.replace("’", "'")) if unicodedata.category(c) != "Cf")
    return tuple(map(_unmixed, _WORD.findall(folded(seen))))


@lru_cache(maxsize=4096)
def is_final_label(text: str, read: bool = False) -> bool:
    """Whether a label names something that cannot be taken back; paragraphs are no labels.

    A label that was `read` off a screen may be misread in a letter or two ("Dete all"). A part of it that refuses
    ("No, ...") says nothing of the others.
    """
    words = words_of(text)
    if not 0 < len(words) <= _LONGEST or words[0] in _EXPLAINS:
        return False
    if _is_final_unspaced(text):
        return True
    if len(words) > _SHORT:
        return _is_long_label(text, read)
    parts = [part for part in map(words_of, _PARTS.split(text)) if part]
    return holds_phrase(words) or carries_out(words) or any(_is_final_part(part, read) for part in parts)


def acts_at(words: Sequence[str], at: int, read: bool = False) -> bool:
    """Whether the word at a place is an irreversible one that stands as a verb."""
    word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    if is_denied(words, at) or in_harmless_phrase(words, at):
        return False
    if word in NOUNS_TOO:
        numbered = after.isdigit() and at + 2 == len(words) and word in ("order", "post")
        return not numbered and after not in AFTER_NOUN and all(is_lead_in(one) for one in words[:at])
    if word in GRAVE:
        return not GRAVE[word].isdisjoint(words[at + 1 : at + 4]) or (word == "wire" and after.isdigit())
    if word.startswith(KOREAN):
        return _is_korean(word, after)
    return word in VERBS or (read and _is_misread(word))


def is_denied(words: Sequence[str], at: int) -> bool:
    """Whether a negation governs the word at a place: "do not delete", "instead of deleting", "not be deleted"."""
    before = at - 1
    while before >= 0 and words[before] in BETWEEN:
        before -= 1
    if before < 0:
        return False
    pair = tuple(words[max(0, before - 1) : before + 1])
    return words[before] in NEGATIONS or pair in (("instead", "of"), ("rather", "than"))


def in_harmless_phrase(words: Sequence[str], at: int) -> bool:
    """Whether the word at a place belongs to a set phrase that is not irreversible: "send to back"."""
    return any(
        tuple(words[start : start + len(phrase)]) == phrase
        for phrase in HARMLESS
        for start in range(max(0, at - len(phrase) + 1), at + 1)
    )


def is_lead_in(word: str) -> bool:
    """Whether a word may stand before a verb that commands: "now", "permanently", "please"."""
    return word in LEAD_INS or (len(word) > 4 and word.endswith("ly"))


def carries_out(words: Sequence[str]) -> bool:
    """Whether something irreversible that is named as a thing is carried out: "confirm payment"."""
    verbs = [at for at, word in enumerate(words) if word.startswith(CARRIES_OUT)]
    nouns = [
        at
        for at, word in enumerate(words)
        if word.startswith(CARRIED_OUT) and (at + 1 == len(words) or words[at + 1] not in AFTER_NOUN - _GOES_ON)
    ]
    return any(
        0 < abs(noun - verb) <= 3 and (verb == 0 or words[verb - 1] not in NEGATIONS)
        for verb in verbs
        for noun in nouns
    )


def holds_phrase(words: Sequence[str]) -> bool:
    """Whether words hold an irreversible phrase, its words one after the other."""
    return any(
        tuple(words[at : at + len(phrase)]) == phrase
        for phrase in PHRASES
        for at in range(len(words) - len(phrase) + 1)
        if at == 0 or words[at - 1] not in NEGATIONS
    )


def holds_unspaced(text: str) -> bool:
    """Whether a text in a script without blanks holds an irreversible word that is no part of a noun."""
    joined = folded(text).replace(" ", "")
    return any(
        not joined[match.end() :].startswith(DELETION_NOUNS if word in DELETIONS else UNSPACED_NOUNS)
        and not joined[: match.start()].endswith(UNSPACED_BEFORE)
        for word in UNSPACED
        for match in re.finditer(re.escape(word), joined)
    )


def _is_final_part(words: tuple[str, ...], read: bool) -> bool:
    if len(words) == 1 and (words[0] in ALONE or words[0] in LIGHT_ALONE):
        return True
    return any(acts_at(words, at, read) for at in range(len(words)))


def _is_final_unspaced(text: str) -> bool:
    plain = folded(text)
    commands = plain.startswith(tuple(start + verb for verb in DELETIONS for start in ("", "永久", "确认", "彻底")))
    most = _UNSPACED_COMMAND if commands else _UNSPACED_CHARACTERS
    return len(plain) <= most and holds_unspaced(text)


def _unmixed(word: str) -> str:
    """A word of Latin letters in which some look-alikes are Cyrillic, all Latin; other words as they are."""
    latin = any("a" <= c <= "z" for c in word)
    return word.translate(_MIXED) if latin else word


def _is_long_label(text: str, read: bool) -> bool:
    """Whether a long label says what is done: a clause of it begins with the verb, or ends with it as in German.

    Of several clauses a later one counts where the first agrees to something; others list what can be done.
    """
    if _SENTENCE.search(text):
        return False
    clauses = [words for words in map(words_of, _CLAUSES.split(text)) if words]
    agrees = clauses[0][0] in CONSENTS | _REFUSALS
    for number, words in enumerate(clauses):
        first = next((at for at, word in enumerate(words) if not is_lead_in(word)), None)
        if first is None or _is_purpose(words, first) or (number and not agrees):
            continue
        last = len(words) - 1
        follows = words[first + 1] if first < last else ""
        if (words[first] in VERBS or (read and _is_misread(words[first]))) and follows not in PRONOUNS:
            return True
        if words[last] in VERBS and words[last].endswith(_INFINITIVES) and words[last - 1] not in _NOT_BEFORE_LAST:
            return True
    return False


def _is_purpose(words: Sequence[str], verb: int) -> bool:
    """Whether a verb says what something else is for: "to delete your account, ask us"."""
    return verb > 0 and words[verb - 1] == "to" and (verb == 1 or words[verb - 2] not in _WISHES)


def _is_korean(word: str, after: str) -> bool:
    stem = next(one for one in KOREAN if word.startswith(one))
    return after not in AFTER_NOUN and word[len(stem) :] in KOREAN_ENDINGS


@lru_cache(maxsize=4096)
def _is_misread(word: str) -> bool:
    """Whether a word may be a long irreversible one of which letters were lost or one was taken for another.

    Readers lose a letter, or a thin one together with its neighbour; the first and the last are there. Anything looser
    takes ordinary words for irreversible ones: "done" for "donate", "design" for "resign", "sender" for "senden".
    """
    if word in _NO_MISREADINGS:
        return False
    alike = [final for final in _LONG if (word[0], word[-1]) == (final[0], final[-1])]
    return any(_has_lost(word, final) or _differs_once(word, final) for final in alike)


def _has_lost(word: str, final: str) -> bool:
    lost = len(final) - len(word)
    return lost in (1, 2) and any(
        word == final[:at] + final[at + lost :] and (lost == 1 or not _THIN.isdisjoint(final[at : at + lost]))
        for at in range(1, len(final) - lost)
    )


def _differs_once(word: str, final: str) -> bool:
    return len(word) == len(final) and sum(a != b for a, b in zip(word, final, strict=True)) == 1
