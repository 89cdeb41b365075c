"""Whether something else in view is what an intent names, and what is acted on is not: a reason that can be checked.

A rival has to answer to the words of the intent wholly, and to all of those that what is acted on answers to. Labels
that agree or refuse contradict intents that do the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from foretell.gui.lexicon import AGREE, REFUSE
from foretell.gui.meaning import Match, has_synonyms, inflected, match, meaning, synonyms
from foretell.gui.naming import EXACT, called_by_verb, likeness, naming_of
from foretell.gui.plurals import is_list_of, is_numbered_otherwise, says_all
from foretell.gui.wording import folded, part_of, tokens, word_list

_QUALITY_AND_KIND = 2  # words for entries of a kind
_MOST_OF_SUBMIT = 2  # words of a label that ends a form
_SUBMITS = ("save", "create", "ok", "send", "finish")
_SHORT = 3  # words of a label that agrees
_BEGINNING = 6  # words of a longer name by which it is known
_VERB_WORDS = 2  # of a label that may be a verb with its object
_LABEL_WORDS = 8  # a longer name is that of a container or a paragraph
_MEANS = re.compile(
    r"\b(?:with|using|via|by (?:pressing|clicking|using|hitting|choosing|selecting|tapping))\s+(?P<means>[^\n.;,!?]+)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"\b(?:in|of|for|from|under|below|above|beside|next to|near|inside|within|on|at|to|so|because|until|as|with|"
    r"using|via|by|before|after|and|then)\b|[,;:]",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"^\W*(?:(?:now|then|first|please|let me|i will|i'll|let us|let's|go and|go on and)\s+)*(?P<verb>[\w-]+)"
    r"(?:\s+(?:to|into|onto|on|in|for|at|with|up|down|out|off|back|over|through))*\s*",
    re.IGNORECASE,
)
_LOOKS = frozenset(("open", "view", "show", "look", "see", "read", "display", "go", "check", "find", "list"))
_PRESSES = frozenset(
    word_list(
        "click press tap hit choose pick select get put use take bring set switch jump head move navigate follow visit "
        "enter expand unfold activate call return continue proceed start trigger try reach focus double-click "
        "right-click hover point scroll mark highlight check tick"
    )
)  # verbs that name no label
_PART = re.compile(
    r"\b(?:menu|icon|button|arrow|box|checkbox|tick|switch|toggle|field|input|symbol|handle|x|cross|plus|pencil|gear|"
    r"dots|star|picture|image|thumbnail|dropdown|select)s?\s+(?:of|for|beside|next to|near|in|on|at|by|after)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(?:who|which|what|whether|how|why|when|where|if)\b", re.IGNORECASE)
_OWNER = re.compile(r"\b[^\W_]+['’]s\b")
_THINGS = frozenset(
    word_list(
        "file document folder directory picture image photo video song book account user person member customer "
        "contact project task issue record card message note name address number title value text data"
    )
)  # what something is, rather than which one
_CELL = re.compile(r"\b(?:cell|amount|value|figure|slider|handle)\b", re.IGNORECASE)
_CALLS_OFF = frozenset(("cancel", "abort", "discard", "reject", "decline"))
_GIVES_UP = frozenset(("close", "discard", "undo", "back", "skip", "later", "dismiss"))  # may stand for a removal
_REMOVES = frozenset(("delete", "remove"))
_CONTAINERS = frozenset(
    word_list("dialog alertdialog document main form region group navigation toolbar table list tr row section article")
)  # are called by what they hold
_PRESSED = frozenset(("button", "link", "submit", "menuitem", "tab", "checkbox", "switch", "radio"))
_SHOWN = frozenset(
    word_list(
        "heading text badge status label img image figure caption legend presentation none note tooltip progressbar "
        "tablist tabpanel list menu menubar toolbar group generic paragraph cell gridcell columnheader rowheader"
    )
)  # tell something and do nothing when they are clicked
_HEADS = frozenset(("columnheader", "rowheader"))
_ARTICLES = frozenset(("a", "an", "the"))
_FIGURES = re.compile(r"[-+−$€£]?\s?\d[\d.,]*|\([^()]*\)")
_SORTS = re.compile(r"\bsort\b", re.IGNORECASE)
_SORTED = re.compile(r"\b(?:sort\w*|order\w*|column|ascending|descending|header|heading)\b", re.IGNORECASE)
_FIELDS = frozenset(
    word_list("label textbox searchbox combobox text email password number search tel url textarea entry spinbutton")
)


@dataclass(frozen=True)
class Thing:
    """Something in view by its name; `context` names its row or section."""

    name: str
    role: str = ""
    editable: bool = False
    context: str = ""

    @property
    def is_label(self) -> bool:
        return self.role.lower() not in _CONTAINERS and 0 < len(tokens(self.name)) <= _LABEL_WORDS

    def can_be_meant(self, intent: str) -> bool:
        """Whether it can be acted on; the head of a column only where an intent speaks of order or columns."""
        if self.role.lower() in _HEADS:
            return _SORTED.search(intent) is not None
        if self.role.lower() in _SHOWN and not self.takes_text:
            return False
        return not _SORTS.search(self.name) or _SORTED.search(intent) is not None

    @property
    def takes_text(self) -> bool:
        return self.editable or self.role.lower() in _FIELDS


@dataclass(frozen=True)
class Rival:
    """`thing` is what the intent names; `sure` where it does so exactly, and by no word what is acted on.

    `faint` where nothing is known of what is acted on but that it is no control of such a name.
    """

    thing: Thing
    sure: bool
    faint: bool = False


def rival(here: Thing, others: Iterable[Thing], intent: str, types: bool = False) -> Rival | None:
    """Another thing in view that an intent names; None where it may mean the one that is acted on.

    Of an intent to type (`types`) all words count; of others those before a place or a purpose do, and a means
    ("confirm with OK") counts before all.
    """
    words = meaning(intent)
    own = match(here.name, words) if here.is_label else Match()
    if own.whole and own.direct:
        return None if types or here.editable else _said_word_for_word(here, others, intent, own)
    if not words or _in_named_row(here, intent) or (not types and _CELL.search(intent)):
        return None
    mine = likeness(here.name, intent)
    if mine == EXACT or says_all(here.name, intent):
        return None
    head = words if types else head_words(intent)
    if not types and _asks(intent):
        return None  # "see who changed it" names what is to be known, and nothing in view
    said = _without_verb(own.said, intent)
    best: Rival | None = None
    for other in others:
        if other == here or other.name == here.name or _is_context(other, here, intent):
            continue
        if not types and (_is_other_word_for(here, other, words) or _may_do_it(here, other, intent)):
            continue
        if not types and (is_list_of(other.name, intent) or is_numbered_otherwise(other.name, intent)):
            continue
        if (here.editable or types) and not other.takes_text:
            continue
        if not other.can_be_meant(intent) or _ends_form(here, other, intent):
            continue
        if own.whole and not _is_said_itself(other, intent):
            continue  # a synonym is right where nothing bears the name itself
        found = _rival(here, other, intent, head, said, bool(mine))
        if found is not None and (best is None or (found.sure, best.faint) > (best.sure, found.faint)):
            best = found
    return best


def _rival(
    here: Thing, other: Thing, intent: str, head: tuple[str, ...], own: frozenset[str], partly: bool
) -> Rival | None:
    exact = likeness(other.name, intent) == EXACT
    is_control = other.role.lower() in _PRESSED or not (other.role or folded(other.name) in _LOOKS)
    if exact and not is_control and called_by_verb(other.name, intent):
        return None  # the verb of an intent is the name of a control at most: "Open" may be a state
    found = match(other.name, head)
    if not other.is_label or not (exact or found.whole):
        return Rival(other, sure=False) if not own and not partly and _is_entry(here, other, intent) else None
    said = _without_verb(match(other.name, meaning(intent)).said if exact else found.said, intent)
    if not exact and not (_covers(found.said, other, intent) and _is_covered(other, intent)):
        return None
    known = here.is_label and bool(meaning(here.name))
    if not known:
        enough = found.whole and found.direct > 1 and not here.editable
        if not enough and exact and not here.takes_text and here.role.lower() not in _PRESSED:
            return Rival(other, sure=False, faint=True)
        return Rival(other, sure=False) if enough else None
    if partly and not exact and not (own < said and found.direct == len(meaning(other.name))):
        return None
    if exact and not own and not partly:
        return Rival(other, sure=bool(said or meaning(other.name)))
    more = bool(said) and own <= said and (found.direct > 0 or not own)
    return Rival(other, sure=exact and own < said and here.role == other.role) if more else None


def _said_word_for_word(here: Thing, others: Iterable[Thing], intent: str, own: Match) -> Rival | None:
    """Another thing of the kind whose name of several words stands in an intent as it is, while the name of what is
    acted on shares a part of it and has a word of its own: `New Ticket`, not `My Tickets`, for "begin a new ticket"."""
    said = tokens(folded(intent))
    if likeness(here.name, intent) == EXACT or set(tokens(folded(here.name))) <= {*said, *own.said}:
        return None
    if not any(word not in said and not match(word, said).said for word in tokens(folded(here.name))):
        return None
    for other in others:
        name = tokens(folded(other.name))
        stands = len(name) > 1 and any(said[at : at + len(name)] == name for at in range(len(said)))
        is_rival = stands and other.role == here.role and other.can_be_meant(intent)
        if is_rival and own.said <= match(other.name, meaning(intent)).said:
            return Rival(other, sure=False)
    return None


def _asks(intent: str) -> bool:
    verb = _VERB.match(intent)
    return verb is not None and verb["verb"].lower() in _LOOKS and _CLAUSE.match(intent, verb.end()) is not None


def _is_other_word_for(here: Thing, other: Thing, words: tuple[str, ...]) -> bool:
    """Whether another name is a part of this one that the intent does not say itself: `Edit` beside `Edit this page`
    for "take the pencil"."""
    name = set(tokens(folded(other.name)))
    return bool(name) and name < set(tokens(folded(here.name))) and not match(other.name, words).direct


def _may_do_it(here: Thing, other: Thing, intent: str) -> bool:
    """Whether the label of a button may be another word for the verb of an intent, which no other thing bears: `Pause`,
    not `Print`, for "hold the print"."""
    verb = _VERB.match(folded(intent))
    if verb is None or here.role.lower() not in _PRESSED or here.editable:
        return False
    word, own = verb["verb"], meaning(here.name)
    is_known = word in _LOOKS or word in _PRESSES or has_synonyms(word)
    is_verb = here.name.replace(" ", "").isalpha() and 0 < len(own) <= _VERB_WORDS
    if is_known or not is_verb or match(here.name, meaning(intent)).said:
        return False
    return not match(other.name, (word,)).said


def _is_said_itself(other: Thing, intent: str) -> bool:
    return len(meaning(other.name)) > 1 and likeness(other.name, intent) == EXACT


@lru_cache(maxsize=512)
def head_words(intent: str) -> tuple[str, ...]:
    """The words of an intent for what is acted on: a means, or what comes before a place or a purpose."""
    means = _MEANS.search(intent)
    if means is not None and meaning(means["means"]):
        return meaning(means["means"])
    verb = _VERB.match(intent)
    rest = intent[verb.end() :] if verb else intent
    said = (verb["verb"] if verb else "", _CONTEXT.split(rest, maxsplit=1)[0])
    if not meaning(said[1]):  # "set it to Monday", "check it under Archive"
        return meaning(intent)
    return meaning(" ".join(said))


def _is_context(other: Thing, here: Thing, intent: str) -> bool:
    """Whether another thing names the row of what is acted on, or what that is a part of ("the menu of Photos")."""
    if here.context and part_of(other.name, here.context) > 0.99:
        return True
    part = _PART.search(intent)
    if part is None or here.role == other.role in _HEADS:
        return False
    own, after, before = meaning(other.name), meaning(intent[part.end() :]), meaning(intent[: part.end()])
    return bool(match(other.name, after).whole) and not match(" ".join(own), before).direct


def _is_covered(other: Thing, intent: str) -> bool:
    """Whether an intent speaks of the larger part of a name, its small words included: not of "Where to see the"."""
    words = [word for word in tokens(folded(_FIGURES.sub(" ", other.name))) if word not in _ARTICLES and len(word) > 1]
    said, own = tokens(folded(intent)), meaning(intent)
    covered = [
        word for word in words if match(word, own).said or any(word == one or synonyms(word, one) for one in said)
    ]
    return 2 * len(covered) > len(words)


def _ends_form(here: Thing, other: Thing, intent: str) -> bool:
    """Whether a form is ended as an intent says, and the other thing bears no word for that: "store the group" on
    `Create` is no matter of a link `Group`."""
    verb, own = _VERB.match(folded(intent)), meaning(here.name)
    if verb is None or not own or len(own) > _MOST_OF_SUBMIT or here.role.lower() not in _PRESSED:
        return False
    if not AGREE.issuperset(own) or not any(synonyms(verb["verb"], one) for one in _SUBMITS):
        return False
    return not match(other.name, (verb["verb"],)).said


def _covers(said: frozenset[str], other: Thing, intent: str) -> bool:
    """Whether what an intent says of something is all that it acts on, or its verb, of something that is pressed."""
    objects = frozenset(word for word in object_words(_OWNER.sub(" ", intent)) if word.removesuffix("s") not in _THINGS)
    verb = _VERB.match(folded(intent))
    if not objects or objects <= said:
        return True
    ordered = object_words(intent)
    is_kind = len(ordered) == _QUALITY_AND_KIND and not ordered[1].endswith("ly")
    if verb is not None and verb["verb"] in _LOOKS and is_kind and ordered[0] in said:
        return other.role.lower() in _PRESSED and match(other.name, ordered).direct > 0  # "show the disabled feeds"
    return verb is not None and verb["verb"] in said and other.role.lower() in _PRESSED


def _is_entry(here: Thing, other: Thing, intent: str) -> bool:
    """Whether another thing of the same kind has a longer name that begins with all that an intent acts on.

    So do the entries of lists ("Ana Ruiz, 2 messages") and labels with a verb of their own ("Try the tour").
    """
    objects = object_words(intent)
    if not objects or here.role != other.role or not here.role or not meaning(here.name):
        return False
    verb, first = _VERB.match(folded(intent)), (tokens(folded(other.name)) or ("",))[0]
    does = has_synonyms(first) and verb is not None and first != verb["verb"] and not synonyms(first, verb["verb"])
    if does and not match(first, objects).said:
        return False  # `Create order` is not what "open the order" means
    begins = match(" ".join(other.name.split()[:_BEGINNING]), objects)
    return begins.direct > 0 and begins.said == frozenset(objects)


@lru_cache(maxsize=512)
def object_words(intent: str) -> tuple[str, ...]:
    """What is acted on by an intent, without its verb; empty where that is a pronoun."""
    means = _MEANS.search(intent)
    if means is not None and meaning(means["means"]):
        return meaning(means["means"])
    verb = _VERB.match(intent)
    return meaning(_CONTEXT.split(intent[verb.end() :] if verb else intent, maxsplit=1)[0])


def opposed(here: Thing, others: Sequence[Thing], intent: str) -> bool:
    """Whether a label refuses what an intent agrees to, or agrees where it calls off, while the other is in view."""
    shown, said = set(tokens(folded(here.name))), set(tokens(folded(intent)))
    if not shown or len(shown) > 2:
        return False
    others = [other for other in others if other.name != here.name and 0 < len(tokens(other.name)) <= _SHORT]
    if shown <= REFUSE and not any(_are_forms(word, one) for word in said for one in REFUSE):
        words = head_words(intent)
        if shown & _GIVES_UP:
            words = tuple(word for word in words if not any(_are_forms(word, one) for one in _REMOVES))
        agrees = tuple(word for word in words if any(_are_forms(word, one) for one in AGREE))
        return any(match(other.name, agrees).said or match(other.name, words).whole for other in others)
    if shown <= AGREE and said & _CALLS_OFF and not any(match(word, meaning(intent)).whole for word in shown):
        return any(set(tokens(folded(other.name))) & said & _CALLS_OFF for other in others)
    return False


def _are_forms(one: str, other: str) -> bool:
    return one == other or inflected(one, other)


def _without_verb(said: frozenset[str], intent: str) -> frozenset[str]:
    """What an intent says of a label but for verbs of looking, where it begins with one."""
    verb = _VERB.match(folded(intent))
    return said - _LOOKS if verb and verb["verb"] in _LOOKS else said


def _in_named_row(here: Thing, intent: str) -> bool:
    return bool(here.context) and any(
        part_of(row, here.context) > 0.99 for row in naming_of(intent).rows if meaning(row)
    )
