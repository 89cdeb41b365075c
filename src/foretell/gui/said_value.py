"""Values that goal or intent say exactly, in figures, in words or by quoting them, and a text that is not one of them.

A code or a quoted phrase that ends in the midst of a word; figures that changed places; "two and a quarter" and 2.15;
"the 18th" and 19. Each function answers with what is said, or with nothing.
"""

from __future__ import annotations

import re
from datetime import date

from foretell.gui.meaning import inflected, meaning
from foretell.gui.wording import folded, word_list, wording

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
SEARCHES = re.compile(r"\b(?:search|find|filter|look|begin|start|first|part|narrow)\w*", re.IGNORECASE)
MARKS = ".,;:!?'\"‘’“”"
MONTHS = re.compile(
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
)  # "may" is more often a verb
_LEAST_CODE, _LEAST_FIGURES, _LEAST_LETTERS = 8, 3, 3
_FIGURES = re.compile(r"\d+")
_DERIVES = re.compile(
    r"\b(?:next|following|previous|another|copy|copies|duplicat\w*|successor|series|latest|newest|newer|older|upgrad\w*|continu\w*|onwards?)\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b(?=\W*$|[,.;:)]|\s+(?:of|as|and|in|into|here|there|then|day)\b)")
_DAY = re.compile(r"(?:\d{4}-\d{2}-)?(\d{1,2})")
_SPEAKS_OF_DAY = re.compile(r"\b(?:day|date)\b", re.IGNORECASE)
_WHOLES = word_list("no one two three four five six seven eight nine ten eleven twelve")
_PARTS = {"half": 0.5, "quarter": 0.25, "three quarters": 0.75}
_MIXED = re.compile(
    rf"\b(?P<whole>{'|'.join(_WHOLES[1:])}|\d{{1,6}}) and (?:an? )?(?P<part>half|quarter|three[ -]quarters)\b"
)
_DECIMAL = re.compile(r"\d+[.,]\d+")
_BEGINNING = re.compile(
    r"\b(?:beginning|start|first (?:\w+ )?letters?|first part) of (?:the name )?['\"‘“]?(?P<name>[^\W\d_]+)",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\b(?:called|named|titled|entitled)\s+(?P<name>[^\s,;:].*)", re.IGNORECASE)


def holds(whole: str, part: str) -> bool:
    """Whether a text stands in another one, as whole words."""
    return re.search(rf"(?<!\w){re.escape(folded(part))}(?!\w)", folded(whole)) is not None


def figure(number: str) -> str:
    """A number without marks and zeros that say nothing."""
    if re.search(r"[.,]\d{1,2}$", number):
        return number.replace(",", ".").rstrip("0").rstrip(".")
    return re.sub(r"[.,]", "", number)


def cut_off(text: str, intent: str, goal: str) -> str:
    """What is quoted, or a long code or address of the goal, of which the text lacks a part of the last word.

    A quoted phrase may lack the beginning as well; of a number its prefix is often left out.
    """
    if SEARCHES.search(intent):
        return ""
    typed = folded(text)
    if " " in typed:
        phrases = [*wording(intent).quoted, *wording(goal).quoted]
        return next((one for one in phrases if _begins(typed, folded(one)) or _ends(typed, folded(one))), "")
    if len(typed) < _LEAST_CODE or not _FIGURES.search(typed) or _is_date(typed):
        return ""
    return next((word for word in (one.strip(MARKS) for one in goal.split()) if _begins(typed, folded(word))), "")


def _begins(part: str, whole: str) -> bool:
    """Whether a text begins with a part that ends in the midst of a word."""
    return len(part) < len(whole) and whole.startswith(part) and part[-1].isalnum() and whole[len(part)].isalnum()


def _ends(part: str, whole: str) -> bool:
    """Whether a text ends with a part that begins in the midst of a word."""
    return len(part) < len(whole) and whole.endswith(part) and part[0].isalnum() and whole[-len(part) - 1].isalnum()


def other_order(text: str, goal: str) -> str:
    """The only number of the goal that has the figures of a typed number, in another order."""
    if not NUMBER.fullmatch(text) or len(_only_figures(text)) < _LEAST_FIGURES:
        return ""
    typed = _only_figures(text)
    said = {one for one in NUMBER.findall(goal) if sorted(_only_figures(one)) == sorted(typed)}
    return next(iter(said)) if len(said) == 1 and all(_only_figures(one) != typed for one in said) else ""


def other_figures(text: str, intent: str, goal: str) -> str:
    """The only code of the goal that has the letters of a typed code, but other figures."""
    letters = _FIGURES.sub("", folded(text))
    numbers = _FIGURES.findall(text)
    if not numbers or " " in text or sum(map(str.isalpha, letters)) < _LEAST_LETTERS or "@" in text or "://" in text:
        return ""
    if _DERIVES.search(f"{goal} {intent}") or any(holds(goal, number) for number in numbers):
        return ""
    words = {word.strip(MARKS) for word in goal.split()}
    said = {word for word in words if _FIGURES.search(word) and _FIGURES.sub("", folded(word)) == letters}
    return next(iter(said)) if len(said) == 1 and not any(word.startswith(text) for word in said) else ""


def other_day(text: str, intent: str) -> str:
    """The only day of the month that an intent gives a field for a day, where another day is typed."""
    typed, said = _DAY.fullmatch(text), set(_ORDINAL.findall(intent))
    if typed is None or len(said) != 1 or holds(intent, text):
        return ""
    whole_date = "-" in text
    if whole_date and not _is_date(text):
        return ""
    if not whole_date and (not _SPEAKS_OF_DAY.search(intent) or MONTHS.search(folded(intent))):
        return ""
    (day,) = said
    return day if int(day) != int(typed[1]) else ""


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def other_fraction(text: str, said: str) -> str:
    """The only mixed number that is said in words, "two and a quarter", where another decimal of that size is typed."""
    found = {one[0]: _mixed(one) for one in _MIXED.finditer(folded(said))}
    if len(set(found.values())) != 1 or not _DECIMAL.fullmatch(text):
        return ""
    phrase, value = next(iter(found.items()))
    typed = float(text.replace(",", "."))
    return phrase if typed != value and (int(typed) == int(value) or typed % 1 == value % 1) else ""


def _mixed(found: re.Match[str]) -> float:
    whole = found["whole"]
    return (int(whole) if whole.isdecimal() else _WHOLES.index(whole)) + _PARTS[found["part"].replace("-", " ")]


def other_beginning(text: str, intent: str, goal: str) -> str:
    """The name of which an intent says to type the beginning, where the text begins with another letter."""
    for found in _BEGINNING.finditer(intent):
        name = found["name"]
        if name[0].isupper() and holds(goal, name) and text[0].isalpha() and folded(text)[0] != folded(name)[0]:
            return name
    return ""


def other_name(text: str, intent: str, goal: str) -> str:
    """What the goal says something is called, where the text has the same words but for a new last one."""
    typed = folded(text).split()
    found = _CALLED.search(goal)
    if found is None or len(typed) < 2 or SEARCHES.search(intent):
        return ""
    said = [word.strip(MARKS) for word in found["name"].split()[: len(typed)]]
    last, new = said[-1], typed[-1]
    if len(said) < len(typed) or [folded(word) for word in said[:-1]] != typed[:-1] or not meaning(said[0]):
        return ""
    is_new = not any(inflected(new, word) for word in meaning(f"{goal} {intent}")) and new.isalpha()
    return " ".join(said) if meaning(last) and len(new) >= _LEAST_LETTERS and meaning(new) and is_new else ""


def other_entry(text: str, intent: str, entries: str) -> str:
    """The entry of a list that an intent names, where the letters typed choose another one of the `entries`."""
    words = set(re.findall(r"\w+", entries))
    named = {
        word for word in re.findall(r"(?<!^)(?<![.!?] )\b[^\W\d_]\w+", intent) if word[0].isupper() and word in words
    }
    if len(named) != 1 or not holds(entries, text) or holds(intent, text):
        return ""
    (entry,) = named
    return "" if folded(entry).startswith(folded(text)) else entry


def _only_figures(number: str) -> str:
    return re.sub(r"\D", "", figure(number))
