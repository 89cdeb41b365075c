"""What an intent may be naming, whatever its verb: "go to Settings", "show the filters", "confirm with 'OK'".

`target` knows the verbs of clicks; the models were trained on what it says. Here, what follows the first verb is what
is acted on, up to where a purpose or a place begins, and quoted names count wherever they do not name a place. A
reading may speak for a click on what is called so; it never speaks against one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from foretell.gui.pointing import ordinal
from foretell.gui.target import target_of
from foretell.gui.wording import COLOURS, alike, content, folded, part_of, same_numbers, tokens, word_list, wording

EXACT, PARTLY = 2, 1  # how well a label is what an intent names; 0 where it is not
SAME = 0.93  # likeness of a label that is the one
_LABEL_WORDS = 6  # a longer text is a paragraph, not a label
_MOST_CHARACTERS = 1000  # of an intent that are looked at
_BEFORE = re.compile(
    r"^\W*(?:(?:now|next|then|first|finally|please|so|ok|okay|and|let me|let's|let us|i'll|i will|i'm|i am|i|we'll|we|"
    r"need to|want to|should|have to|going to|time to|just)\b[\s,:]*)+",
    re.IGNORECASE,
)
_PARTICLE = re.compile(r"^(?:(?:to|into|onto|on|in|for|at|with|up|down|out|back|over|through)\s+)+", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|a|an|this|that|these|those|its|my|our|all|it)(?:\s+|$)", re.IGNORECASE)
_MEANS = re.compile(r"\b(?:with|using|via|through)\s+(?P<means>[^\n.;,!?]+)", re.IGNORECASE)
_ENDS = re.compile(
    r"\s+(?:to|in order|so|in|of|for|from|under|below|above|beside|next to|on|at|with|and|then|that|which|who|by|near|"
    r"inside|within|as|again|after|before|until|because|since|via|using|through|if|when|where)\b|[,;:.!?()]|$",
    re.IGNORECASE,
)
_PLACES = frozenset(word_list("in of from under below above beside near next for inside within by row line"))
_IS_ROW = re.compile(r"^\W{0,2}\s*(?:row|line|section|dialog|card|table|list|group|panel|column)\b", re.IGNORECASE)
_ROW_WORDS = re.compile(r"\s+(?:row|line|section|dialog|card|table|list|group|panel|column)$", re.IGNORECASE)
_QUOTES = " '\"‘’“”„«»"
_KINDS = frozenset(
    word_list(
        "page tab view screen section menu list link button dialog icon sign symbol field box input textbox entry item "
        "option row cell column checkbox radio toggle switch dropdown tile label text"
    )
)
_PLAIN = frozenset(word_list("current old existing big large small little left right top bottom")) | {*COLOURS}
_ORDINALS = frozenset(word_list("first second third fourth fifth last"))
_POINTING = frozenset(word_list("click press tap hit select choose pick go put use see look switch move set it"))
_SIGNS: dict[str, tuple[str, ...]] = {
    "x": word_list("close remove delete clear dismiss × ✕ x"),
    "plus": word_list("add new create + ＋"),
    "question mark": word_list("help ?"),
    "pencil": word_list("edit rename ✎"),
    "gear": word_list("settings preferences options ⚙"),
    "trash": word_list("delete remove 🗑"),
    "magnifier": word_list("search find 🔍"),
}
_SIGNS |= dict.fromkeys(("×", "✕", "cross"), _SIGNS["x"]) | {"+": _SIGNS["plus"], "?": _SIGNS["question mark"]}
_SIGNS |= {"cog": _SIGNS["gear"], "pen": _SIGNS["pencil"], "bin": _SIGNS["trash"], "trash can": _SIGNS["trash"]}


@dataclass(frozen=True)
class Naming:
    """`names` are readings of what is acted on; `verb` may be a label itself ("edit"), then `thing` names its row.

    `rows` are phrases for where it stands, `number` its place among those of its name ("the second", -1 the last).
    """

    names: tuple[str, ...] = ()
    verb: str = ""
    thing: str = ""
    rows: tuple[str, ...] = ()
    number: int | None = None


def naming_of(intent: str) -> Naming:
    """What an intent may be naming."""
    return _naming_of(intent[:_MOST_CHARACTERS])


@lru_cache(maxsize=512)
def _naming_of(intent: str) -> Naming:
    target = target_of(intent)
    said = _BEFORE.sub("", intent.strip())
    number = ordinal(intent)
    quoted = _quoted(intent)
    if quoted:
        rows = [one for one in target.context if folded(one) not in {folded(name) for name in quoted}]
        return Naming(quoted[:1], rows=_plain_rows(rows), number=number)
    verb, _, rest = ("", "", said) if _ARTICLE.match(said) else said.partition(" ")
    names = [*target.names, *_readings(_PARTICLE.sub("", rest))]
    names += [one for means in _MEANS.finditer(said) for one in _readings(means["means"])]
    thing = names[0] if names else ""
    named_verb = verb.strip(".,;:!?")
    if rest and named_verb:
        names += [f"{named_verb} {one}" for one in _readings(rest)]
    if folded(named_verb) in _POINTING:
        named_verb = ""
    return Naming(tuple(dict.fromkeys(names)), named_verb, thing, _plain_rows(target.context), number)


def _quoted(intent: str) -> tuple[str, ...]:
    """The quoted phrases that name what is acted on, rather than where it stands."""
    words = wording(intent)
    names = []
    for phrase, before in zip(words.quoted, words.context, strict=True):
        after = intent[intent.find(phrase) + len(phrase) :]
        if not _IS_ROW.match(after) and not _PLACES.intersection(before.split()):
            names.append(phrase)
    return tuple(names)


def _plain_rows(context: Iterable[str]) -> tuple[str, ...]:
    """Phrases for a row without quotation marks and the word "row"."""
    return tuple(dict.fromkeys(_ROW_WORDS.sub("", one.strip(_QUOTES)).strip(_QUOTES) for one in context))


def _readings(rest: str) -> list[str]:
    """The beginnings of a text that may be a name, the shortest first, without articles, qualities and kinds."""
    names = []
    for end in _ENDS.finditer(rest):
        words = _ARTICLE.sub("", rest[: end.start()].strip()).split()
        while words and folded(words[0]) in _PLAIN | _ORDINALS | {"the"}:
            words = words[1:]
        if len(words) > 1 and folded(words[0]) in _KINDS:  # "the list of bills", "the link about syntax"
            words = _ARTICLE.sub("", re.sub(r"^(?:of|about|for|called|named)\s+", "", " ".join(words[1:]))).split()
        while words and folded(words[-1]) in _KINDS:
            words = words[:-1]
        if words and len(words) <= _LABEL_WORDS and (content(" ".join(words)) or folded(words[0]) in _SIGNS):
            names.append(" ".join(words))
    return list(dict.fromkeys(names))


def likeness(label: str, intent: str) -> int:
    """How well a label is what an intent names: EXACT, PARTLY (it says more), or 0."""
    naming = naming_of(intent)
    rows = {folded(row) for row in naming.rows} - {folded(name) for name in naming.names}
    if folded(label) in rows:  # "the + beside Editor"
        return 0
    if not label or (tokens(label) and len(tokens(label)) > _LABEL_WORDS):
        return 0
    if called_by_verb(label, intent) or any(_is_same(name, label) or _is_sign(name, label) for name in naming.names):
        return EXACT
    whole = [name for name in naming.names if any(len(word) > 1 for word in content(name))]
    return PARTLY if any(part_of(name, label) > 0.99 for name in whole) else 0


def called_by_verb(label: str, intent: str) -> bool:
    """Whether a label is the verb of an intent, as "Edit" is in "edit the tram tickets"."""
    verb = naming_of(intent).verb
    return bool(verb) and folded(verb) == folded(label)


def rows_of(label: str, intent: str) -> tuple[str, ...]:
    """The phrases of an intent for the row of what has that label."""
    naming = naming_of(intent)
    thing = (naming.thing,) if naming.thing and called_by_verb(label, intent) else ()
    return (*naming.rows, *thing)


def _is_same(name: str, label: str) -> bool:
    if (alike(name, label) >= SAME and same_numbers(name, label)) or folded(name) == folded(label):
        return True
    words = content(name)
    return len(words) > 1 and words == content(label)


def _is_sign(name: str, label: str) -> bool:
    meanings = _SIGNS.get(folded(name))
    shown = tokens(label) or (folded(label),)
    return meanings is not None and len(shown) <= 3 and (shown[0] in meanings or folded(label) in meanings)
