"""Names of lists, such as the `Orders` of a side bar, beside intents that have the same word for something else. Pure.

"open the order of Ada" means one order and not the list of them, "file it" and "collect the amount" are verbs, and
"customers pay nothing for the delivery" says what becomes of customers.
"""

from __future__ import annotations

import re

from foretell.gui.meaning import inflected, meaning
from foretell.gui.wording import folded

_ONE = (
    r"\b(?:the|a|an|this|that|my|our|your|their|his|her|its|each|every|one|another|selected|chosen)\s+"
    r"(?:[\w-]+\s+){0,2}?"
)
_OF_MANY = (
    r"(?!\s+(?:list|lists|page|pages|tab|tabs|section|view|overview|menu|screen|table|index|area|panel|entry|link|"
    r"part|group|category|heading|module|app|board|history|log|settings)\b)"
)  # "the customer list" is the list
_OTHER_WORDS = 2  # of a sentence that only begins with the name
_NO_PLURAL = ("ss", "us", "is")
_ALL = re.compile(r"\W*(?:all|any|every\w*)\b[\W\d]*", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:all|any|every\w*)\b", re.IGNORECASE)


def is_list_of(name: str, intent: str) -> bool:
    """Whether a name is that of a list, of which an intent means one thing, or has the word as a verb."""
    words = meaning(name)
    if len(words) != 1 or not words[0].endswith("s") or words[0].endswith(_NO_PLURAL):
        return False
    said = folded(intent)
    forms = [word for word in meaning(intent) if inflected(word, words[0])]
    if not forms:
        return False
    first = re.match(r"\W*([\w-]+)", said)
    for form in forms:
        begins = first is not None and first[1] == form
        if form == words[0]:
            is_meant = not begins or len(meaning(intent)) <= _OTHER_WORDS
        else:
            is_meant = not begins and re.search(f"{_ONE}{re.escape(form)}\\b{_OF_MANY}", said) is None
        if is_meant:
            return False
    return True


def says_all(name: str, intent: str) -> bool:
    """Whether a name says no more than "all", as an intent does, too."""
    return _ALL.fullmatch(name) is not None and _EVERY.search(intent) is not None


def is_numbered_otherwise(name: str, intent: str) -> bool:
    """Whether a name has a number, where an intent has none and speaks of the thing at hand: "follow this bug"."""
    numbers, said = re.findall(r"\d+", name), folded(intent)
    return bool(numbers) and not any(one in said for one in numbers) and re.search(r"\bthis\b", said) is not None
