"""Whether the words of an intent and the words of a label mean the same: inflected, shortened, or another usual word.

"start a new shelf" means a button `Create a Shelf`, "let her download" one `Allow Downloads`, "delete it" one `del.`.
Only general words of programs are known as synonyms. Numbers and names of files are never alike: they are the same or
not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from foretell.gui.wording import folded, word_list

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AMOUNT = re.compile(r"[-+−$€£]?\s?\d[\d,]*[.,]\d+")
_PHRASAL = re.compile(r"\b(log|sign)[ -](in|out|on|off|up)\b", re.IGNORECASE)
_SHORTCUT = re.compile(r"\([^()]{1,20}\)|\[[^\[\]]{1,3}\]\s*$")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")  # of a file's name
_ENDING = re.compile(
    r"|s|es|d|ed|ing|ings|er|ers|r|rs|or|al|ly|y|ie|i|able|n|en|e|ies|ied|ily|i[sz]e[sdr]?|i[sz]ing|ic|ical|ive|\w*(?:ions?|ments?|ences?|ances?|ity|ities|ures?)"
)  # of an inflected word, or of one that is cut short
_LEAST_PLURAL = 3  # letters of a word that may have a plural
_LEAST_STEM, _LEAST_SHARE = 4, 0.6  # letters that inflected words share at least, and of the longer one
_STOP = frozenset(
    word_list(
        "a an the this that these those it its my our your their his her him them he she i we you of to in on at for "
        "from by with and or as is are was be been has have into onto up down out so then now please again also here "
        "there all every each one ones what which who whose where when how new present current selected "
        "click press tap hit choose pick select go get put use take bring come want need will let's lets set "
        "button link icon item entry option tab menu list field box input textbox checkbox radio row cell column line "
        "word time times "
        "page screen view section dialog window panel form area bar sign symbol little small big top bottom left right "
        "first second third last next previous"
    )
)
_SYNONYMS = (
    "create make add new start insert compose begin plus",
    "delete remove erase trash bin del",
    "save store keep apply update submit commit",
    "ok okay confirm yes accept agree approve",
    "cancel abort discard reject decline",
    "close exit dismiss hide leave quit",
    "open view show look see read display unfold expand",
    "edit change modify rename alter",
    "search find look lookup query magnifier",
    "settings preferences options configuration gear",
    "folder directory",
    "picture image photo",
    "login signin logon",
    "logout signout logoff signoff",
    "repeat confirm retype verify",
    "mail email e-mail",
    "theme mode dark light appearance",
    "refresh reload",
    "toggle switch turn",
    "allow let permit enable",
    "send post publish",
    "copy duplicate",
    "finish done complete",
    "person people user member",
    "help question",
    "pause hold suspend",
    "stop halt end abort",
    "start run launch execute",
    "resume continue proceed",
    "history revisions versions",
    "import upload load",
    "export download",
    "reply answer respond",
    "favourite favorite star bookmark",
    "follow watch subscribe",
)


def _groups() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_SYNONYMS):
        for word in word_list(line):
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_GROUPS = _groups()


@dataclass(frozen=True)
class Match:
    """What an intent says of a label: the intent's words that are in it, and whether they are all of the label's.

    `direct` counts the label's words that the intent says itself, not by a synonym.
    """

    said: frozenset[str] = frozenset()
    whole: bool = False
    direct: int = 0


@lru_cache(maxsize=8192)
def meaning(text: str) -> tuple[str, ...]:
    """The words of a text that tell one thing from another; amounts and the endings of files' names are left out."""
    plain = _AMOUNT.sub(" ", _CAMEL.sub(" ", _SUFFIX.sub("", _SHORTCUT.sub(" ", text.strip()).strip())))
    plain = _PHRASAL.sub(r"\1\2", plain)
    words = (word.removesuffix("'s").removesuffix("’s").strip("'’") for word in _WORD.findall(folded(plain)))
    return tuple(dict.fromkeys(word for word in words if (len(word) > 1 or word.isdigit()) and not _says_nothing(word)))


def _says_nothing(word: str) -> bool:
    return word in _STOP or word.removesuffix("s") in _STOP or word.removesuffix("es") in _STOP


@lru_cache(maxsize=16384)
def inflected(one: str, other: str) -> bool:
    """Whether two words are forms of one, or one is short for the other."""
    a, b = one.replace("-", ""), other.replace("-", "")
    if a == b or _plural(a, b):
        return True
    if any(c.isdigit() for c in a + b) or min(len(a), len(b)) < _LEAST_STEM:
        return False
    if (a in ("un" + b, "dis" + b)) or (b in ("un" + a, "dis" + a)):
        return False
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if shared == min(len(a), len(b)):  # one begins with the other: plural, participle, "admin" for "administration"
        return shared >= _LEAST_STEM and not _is_compound(a, b)
    if shared <= _LEAST_STEM or shared < _LEAST_SHARE * max(len(a), len(b)):
        return False
    return all(_ENDING.fullmatch(word[shared:]) for word in (a, b))  # "ticked" is no "ticket"


def _plural(a: str, b: str) -> bool:
    """Whether one is the other with the ending of a plural, which short words have as well ("log")."""
    short, long = sorted((a, b), key=len)
    return len(short) >= _LEAST_PLURAL and short.isalpha() and long == f"{short}s" and not short.endswith("s")


def _is_compound(a: str, b: str) -> bool:
    """Whether the longer word is another thing's name that only begins alike: "tools" and "toolshed"."""
    short, long = sorted((a, b), key=len)
    return _ENDING.fullmatch(long[len(short) :]) is None


def synonyms(one: str, other: str) -> bool:
    """Whether two words are usually said of the same thing of a program."""
    return bool(_group(one) & _group(other))


def has_synonyms(word: str) -> bool:
    """Whether a word, or what it is a form of, is one of those that programs usually have other words for."""
    return bool(_group(word))


@lru_cache(maxsize=4096)
def _group(word: str) -> frozenset[int]:
    own = _GROUPS.get(word)
    if own is not None:
        return own
    stems = {word.removesuffix(ending) for ending in ("s", "es", "d", "ed", "ing")} | {word.removesuffix("ing") + "e"}
    return frozenset().union(*(_GROUPS.get(stem, frozenset()) for stem in stems))


@lru_cache(maxsize=16384)
def match(label: str, words: tuple[str, ...]) -> Match:
    """How the words of an intent speak of a label."""
    own = meaning(label)
    said: set[str] = set()
    whole, direct = bool(own), 0
    pairs = {f"{one}{two}": {one, two} for one, two in pairwise(words)}
    for word in own:
        same = {one for one in words if inflected(one, word)} | pairs.get(word, set())
        alike = same or {one for one in words if synonyms(one, word)}
        said |= alike
        direct += bool(same)
        whole = whole and bool(alike)
    return Match(frozenset(said), whole, direct)
