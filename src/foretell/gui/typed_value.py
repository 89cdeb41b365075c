"""Whether a text to be typed differs from what the intent or the goal says of it: a reason that can be checked.

"enter 250" and 350; "search for plums" and `pears`; a goal about week 4 and "week 5"; `ana@shop.test` for
`anna@shop.test`. A part of what is said, more than it, and other words for it are no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from urllib.parse import urlsplit

from foretell.gui.meaning import inflected, meaning, synonyms
from foretell.gui.said_value import (
    MARKS,
    MONTHS,
    NUMBER,
    SEARCHES,
    cut_off,
    figure,
    holds,
    other_beginning,
    other_day,
    other_entry,
    other_figures,
    other_fraction,
    other_name,
    other_order,
)
from foretell.gui.wording import folded, wording

_PAGE = re.compile(r"https?://[^\s'\"<>()]+")
_END_OF_SENTENCE = re.compile(r"[.!?]\s|\n")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WORD = re.compile(r"[\w.@+-]*\w")
_CODE = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\d+(?:[.,]\d+)*|\w+(?:[-.:/]\w+)*")
_COUNTED = re.compile(
    r"\b(?:row|line|column|step|page|number|no|item|field|cell|chapter|week|day|room|table|part|level|version)\.?"
    r"\s+(\d+)\b"
)
_DAYS = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_SAYS = re.compile(
    r"\b(?:type|enter|write|put in|fill in|input|search for|look for|filter for|find|make it|set it to|set to)\s+"
    r"(?P<value>[^\s,;:!?]+)",
    re.IGNORECASE,
)
_NO_VALUE = frozenset(
    ("the", "a", "an", "my", "our", "your", "his", "her", "their", "its", "this", "that", "it", "in", "into", "some",
     "all", "for", "what", "who", "to", "on", "text", "name", "title", "message", "value", "new")
)  # fmt: skip
_CORRECTS = re.compile(r"\b(?:correct|fix|spell\w*|typos?|misspel\w*|mistyped)\b", re.IGNORECASE)
_LEAST_WORDS = 3  # of a text that repeats what the goal says
_NEAR, _LEAST_LETTERS, _MOST_CHARACTERS = 0.75, 5, 200


@dataclass(frozen=True)
class Difference:
    """What is said, and whether that alone is enough to be sure."""

    said: str
    sure: bool


def difference(text: str, intent: str | None, goal: str, entries: str = "") -> Difference | None:
    """How a text to be typed differs from what is said of it; None where it does not, or nothing is said.

    `entries` are those of the list that the letters go to, where it is one.
    """
    text = text.strip()
    if not text or len(text) > _MOST_CHARACTERS:
        return None
    entry = other_entry(text, intent or "", entries)
    if entry:
        return Difference(entry, sure=True)
    half = _half(text, intent or "", goal)
    if half or holds(goal, text):
        return Difference(half, sure=True) if half else None
    said = _stated(text, intent or "", goal) or other_day(text, intent or "")
    said = said or other_beginning(text, intent or "", goal) or other_fraction(text, f"{goal} {intent or ''}")
    if said:
        return Difference(said, sure=True)
    if _CORRECTS.search(f"{goal} {intent or ''}"):
        return None
    near = _other_number(text, goal) or _other_address(text, goal) or _near_miss(text, goal)
    near = near or _other_page(text, goal) or _other_word(text, goal) or _other_code(text, intent or "", goal)
    near = near or _other_day(text, f"{goal} {intent or ''}") or cut_off(text, intent or "", goal)
    near = near or other_order(text, goal) or other_figures(text, intent or "", goal)
    near = near or other_name(text, intent or "", goal)
    return Difference(near, sure=True) if near else None


def _stated(text: str, intent: str, goal: str) -> str:
    """The value that an intent names and the goal holds, where the text shares nothing with either."""
    typed = meaning(text) or (folded(text),)
    for one in _SAYS.finditer(intent):
        value = one["value"].strip("'\"‘’“”.")
        if folded(value) in _NO_VALUE or "'" in value or "’" in value or not holds(goal, value):
            continue
        number = NUMBER.fullmatch(value)
        if number and NUMBER.fullmatch(text):
            return value if figure(value) != figure(text) else ""
        if number or not meaning(value):
            continue
        if not any(inflected(word, other) for word in typed for other in meaning(f"{intent} {goal}")):
            return value
    return ""


def _other_number(text: str, goal: str) -> str:
    """A word of the goal with its number, of which the text has the word with a number that the goal has not."""
    in_goal, in_text = _numbered(goal), _numbered(text)
    numbers = {figure(number) for number in NUMBER.findall(goal)}
    for word, number in in_text:
        others = [n for w, n in in_goal if w == word]
        if others and figure(number) not in numbers and not any((word, n) in in_text for n in others):
            return f"{word} {others[0]}"
    return ""


def _numbered(text: str) -> list[tuple[str, str]]:
    words = _WORD.findall(folded(text))
    return [(one, two) for one, two in pairwise(words) if one.isalpha() and NUMBER.fullmatch(two)]


def _other_address(text: str, goal: str) -> str:
    """The only e-mail address of the goal, where another one is typed that is nearly the same."""
    addresses = set(_EMAIL.findall(folded(goal)))
    if len(addresses) != 1 or not _EMAIL.fullmatch(folded(text)):
        return ""
    (address,) = addresses
    return address if _alike(folded(text), address) >= _NEAR else ""


def _near_miss(text: str, goal: str) -> str:
    """Words of the goal that the text is nearly, but for letters in the midst of a word."""
    words, typed = _WORD.findall(goal), _WORD.findall(text)
    if not typed or len(typed) > 3 or _EMAIL.fullmatch(text) or len(text) < _LEAST_LETTERS:
        return ""
    size = len(typed)
    for at in range(len(words) - size + 1):
        said = words[at : at + size]
        pairs = list(zip(typed, said, strict=True))
        if all(folded(one) == folded(two) for one, two in pairs):
            return ""
        if all(folded(one) == folded(two) or _is_slip(one, two) for one, two in pairs):
            return " ".join(said)
    return ""


def _other_code(text: str, intent: str, goal: str) -> str:
    """The number, code or address that an intent has, the only one of its form, where another of that form is typed.

    `M115` and M112, 45 and 47; numbers have to stand in the goal as well, since people count other things, too.
    """
    typed = folded(text)
    if len(typed.split()) != 1 or holds(intent, text) or not (_EMAIL.fullmatch(typed) or re.search(r"\d", typed)):
        return ""
    words = {word for word in _CODE.findall(folded(intent)) if _form(word) == _form(typed)}
    if len(words) != 1:
        return ""
    word: str = words.pop()
    if NUMBER.fullmatch(word):
        is_counted = word in _COUNTED.findall(folded(intent))
        return "" if is_counted or not holds(goal, word) or figure(word) == figure(typed) else word
    return word


def _half(text: str, intent: str, goal: str) -> str:
    """A phrase that the goal quotes and the intent repeats, of which the text has the beginning only."""
    if SEARCHES.search(intent):
        return ""
    for phrase in wording(goal).quoted:
        if holds(intent, phrase) and folded(phrase).startswith(f"{folded(text)} "):
            return phrase
    return ""


def _other_day(text: str, said: str) -> str:
    """The only day of the week, or month, that goal and intent speak of, where the text is another one."""
    for names in (_DAYS, MONTHS):
        typed, spoken = set(names.findall(folded(text))), set(names.findall(folded(said)))
        if len(typed) == 1 and len(spoken) == 1 and typed != spoken and names.fullmatch(folded(text).removesuffix("s")):
            return str(spoken.pop())
    return ""


def _form(word: str) -> str:
    """What a word is made of: figures, letters and the marks between them; addresses are all of one form."""
    if _EMAIL.fullmatch(word):
        return "@"
    return "9" if NUMBER.fullmatch(word) else re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", word))


def _other_page(text: str, goal: str) -> str:
    """The only address of a page in the goal, where another one on the same host is typed."""
    pages = set(_PAGE.findall(goal))
    if len(pages) != 1 or not _PAGE.fullmatch(text):
        return ""
    (page,) = pages
    page = page.rstrip(".,;:!?)")
    same_host = urlsplit(page).netloc == urlsplit(text).netloc
    is_part = page.startswith(text.rstrip("/")) or text.startswith(page.rstrip("/"))
    return page if same_host and not is_part else ""


def _other_word(text: str, goal: str) -> str:
    """Words of the goal that a text repeats but for one, for which it has another that the goal has not.

    Of a quoted phrase half of the words have to be the same, of others all but the last.
    """
    typed = folded(text).split()
    if len(typed) < _LEAST_WORDS or _END_OF_SENTENCE.search(text.rstrip(".!?")):
        return ""
    for phrase in wording(goal).quoted:
        said = folded(phrase).split()
        same = [one for one, two in zip(typed, said, strict=False) if one == two]
        others = set(meaning(" ".join(typed))) - set(meaning(phrase))
        begins = len(same) * 2 >= max(len(said), len(typed)) and typed[: len(same)] == said[: len(same)]
        begins = begins or (len(typed) == len(said) == len(same) + 1)  # one word is another, wherever it stands
        if begins and len(typed) > len(same) < len(said) and _are_new(others, goal):
            return phrase
    words = folded(goal).split()
    for at in range(len(words) - len(typed) + 1):
        said = [word.strip(MARKS) for word in words[at : at + len(typed)]]
        if len(typed) > _LEAST_WORDS and said[:-1] == typed[:-1] and meaning(said[-1]):
            last = typed[-1].strip(MARKS)
            if last != said[-1] and meaning(last) and _are_new({last}, goal):
                return " ".join(said)
    return ""


def _are_new(words: set[str], goal: str) -> bool:
    """Whether the goal says none of these words, by no form or synonym of it."""
    return bool(words) and not any(inflected(one, two) or synonyms(one, two) for one in words for two in meaning(goal))


def _is_slip(one: str, two: str) -> bool:
    a, b = folded(one), folded(two)
    if any(c.isdigit() for c in a + b) or min(len(a), len(b)) < _LEAST_LETTERS or a[0] != b[0]:
        return False
    if a in b or b in a or inflected(a, b):
        return False
    return _alike(a, b) >= _NEAR


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
