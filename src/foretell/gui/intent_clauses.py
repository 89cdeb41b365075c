"""An intent taken apart: its clauses, and what each of them presses, types or only looks at. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from foretell.gui.final_labels import words_of
from foretell.gui.wording import word_list, wording

_MOST_CHARACTERS = 2000  # of an intent that are looked at
_SPLIT = re.compile(
    r"[,;:!?\n–—，。；！？]+|\.(?=\s|$)|\s-\s|\b(?:and|but|or|then|und|et|puis|y|e)\b(?=\s)|然后|再|并|接着",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"^\s*(?:i|we)(?:'ll|\s+(?:will|can|could|shall|am|are))\b", re.IGNORECASE)
_LEADS = frozenset(
    word_list(
        "now next first then please i we i'll let me us to need want should must will am going just so also finally "
        "try again ok okay go ahead"
    )
)
_LOOKS = frozenset(
    word_list(
        "open opens opening expand show view reveal find locate look search scroll hover focus go navigate return "
        "switch see read visit close dismiss sort filter check verify wait 打开 开启 開く"
    )
)
_TYPES = frozenset(word_list("type types typing enter write fill input insert paste"))
_PRESSES = frozenset(
    word_list(
        "click clicks clicking press presses pressing tap taps tapping hit select selects choose choosing pick push "
        "pushing tick doubleclick klick klicke cliquez"
    )
)
_ARTICLES = frozenset(word_list("on the a an this that at into of"))
_STOPS = frozenset(
    word_list(
        "in of for to from under below above beside besides next near on at with so that which who by inside within as "
        "again after before until because since instead rather without not right left if when where via using along"
    )
)
_KINDS = frozenset(
    word_list(
        "button buttons link icon symbol option item entry label control image key one labeled labelled named called "
        "titled marked"
    )
)
_INPUTS = frozenset(
    word_list(
        "field fields textbox textarea input box searchbox searchbar menu submenu dropdown tab checkbox radio heading "
        "header cell row column folder dialog dialogue panel list date bar combobox spinner slider"
    )
)  # what is filled in, opened or selected by a press, which does nothing else
_OPENERS = frozenset(word_list("menu dots hamburger kebab ellipsis gear cog dropdown chevron magnifier pencil"))
_FORMS = frozenset(word_list("compose new edit open view show browse search login sign sort filter preview all"))
LATER = frozenset(("later", "afterwards", "eventually", "soon"))
_PRONOUNS = frozenset(word_list("it them there one that this"))


@dataclass(frozen=True)
class Clause:
    """One clause, its words folded. `looks` and `types`: it begins with such a verb.

    `target` is the name of what it presses, None where it presses nothing; `rest` are the words behind that, for
    example what the press is for. `opens` says that it presses what is filled in, opened or selected.
    `announces`: it tells what the agent means to do after this action.
    """

    words: tuple[str, ...]
    looks: bool = False
    types: bool = False
    target: str | None = None
    before: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    opens: bool = False
    announces: bool = False

    @property
    def points_back(self) -> bool:
        """Whether it presses what an earlier clause has named ("and click it")."""
        return self.target is not None and (not self.target or set(words_of(self.target)) <= _PRONOUNS)


@lru_cache(maxsize=1024)
def clauses(intent: str) -> tuple[Clause, ...]:
    """The clauses of an intent; what stands in quotes is never taken apart."""
    text = intent[:_MOST_CHARACTERS]
    quotes: list[str] = []
    for phrase in wording(text).quoted:
        if phrase and phrase in text:
            text = text.replace(phrase, f" quotedphrase{len(quotes)} ", 1)
            quotes.append(phrase)
    parts: list[Clause] = []
    last, then = 0, False
    for split in (*_SPLIT.finditer(text), None):
        part = text[last : split.start() if split else len(text)]
        if words := words_of(part):
            announces = bool(parts) and bool(_ANNOUNCED.match(part)) and (then or words[-1] in LATER)
            parts.append(_clause(words, quotes, announces))
            then = False
        if split:
            then, last = then or split[0].lower() == "then", split.end()
    return tuple(parts)


def _clause(words: tuple[str, ...], quotes: list[str], announces: bool) -> Clause:
    lead = next((at for at, word in enumerate(words) if word not in _LEADS), len(words) - 1)
    first, second = words[lead], words[lead + 1] if lead + 1 < len(words) else ""
    looks = first in _LOOKS and not (first == "check" and second not in ("that", "if", "whether", "what", "for"))
    types = first in _TYPES and not (first == "enter" and second in ("to", "key", ""))
    press = next((at for at, word in enumerate(words) if word in _PRESSES and _is_press(words, at)), None)
    if press is None or types:
        return Clause(_plain(words), looks, types, announces=announces)
    start = press + 1
    while start < len(words) and words[start] in _ARTICLES:
        start += 1
    stop = start + 1
    while stop < len(words) and words[stop] not in _STOPS:
        stop += 1
    target = words[start:stop]
    quoted = next((word for word in target if word.startswith("quotedphrase")), None)
    head = target[-1] if target else ""
    if target[:1] == ("to",) and head not in _INPUTS:  # a sign was pressed, of which no word is left: "press # to ..."
        target, head, stop = (), "", start
    name = _phrase(quoted, quotes) if quoted else " ".join(_stripped(target))
    opens = head in _INPUTS or (
        not quoted and (not _OPENERS.isdisjoint(target) or (bool(target) and target[0] in _FORMS))
    )
    return Clause(_plain(words), looks, False, name, _plain(words[:press]), _plain(words[stop:]), opens, announces)


def _is_press(words: tuple[str, ...], at: int) -> bool:
    """Whether a word that may be a noun stands as a verb: not in "the click", "the first pick"."""
    return at == 0 or words[at - 1] not in ("the", "a", "an", "this", "that", "last", "first")


def _stripped(target: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a target without the kinds of control behind its name."""
    end = len(target)
    while end > 1 and target[end - 1] in _KINDS | {"menu"}:
        end -= 1
    return target[:end]


def _phrase(word: str, quotes: list[str]) -> str:
    number = word.removeprefix("quotedphrase")
    return quotes[int(number)] if number.isdigit() and int(number) < len(quotes) else ""


def _plain(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without quotes: names say nothing of what is done."""
    return tuple(word for word in words if not word.startswith("quotedphrase"))
