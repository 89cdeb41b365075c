"""Whether an agent says of something it presses or drags that it cannot be taken back. Pure.

An irreversible verb counts in every clause that says what the action does, in whatever form: "delete", "deleting", "so
that it is deleted". It does not count where a negation governs it, in what is only looked at ("find the delete
button"), and where what is pressed is filled in, opened or selected by that ("click the To field to send the mail").
"""

from __future__ import annotations

from functools import lru_cache

from foretell.gui.final_forms import AFTER_NOUN, BINS, GRAVE, INTO, NOUNS_TOO, VERBS
from foretell.gui.final_labels import (
    acts_at,
    carries_out,
    holds_phrase,
    holds_unspaced,
    in_harmless_phrase,
    is_denied,
    is_final_label,
    is_lead_in,
    words_of,
)
from foretell.gui.intent_clauses import LATER, Clause, clauses
from foretell.gui.wording import is_unspaced, word_list

_DETERMINERS = frozenset(word_list("the a an my your its their his her this that these those each every any"))
_PLACES = frozenset(word_list("in on of at from for with under above below beside near inside within as by get reach"))
_MOTIONS = frozenset(
    word_list("go goes going scroll navigate back return move next get switch proceed continue jump tab")
)
_PASSIVES = frozenset(word_list("is are be been being get gets getting got have has had was were"))
_STATES = frozenset(word_list("is are was were been"))  # "the file that is deleted" describes it
_PAST = frozenset(word_list("did didn't was wasn't were weren't has hasn't had hadn't have haven't"))
_RETRIES = frozenset(word_list("again retry try once repeat still another"))
_IRREGULAR = {"sent": "send", "paid": "pay", "bought": "buy", "overwritten": "overwrite", "wired": "wire"}
_MOVES = frozenset(word_list("move moves moving put puts putting throw throws drag drags drop send sends"))
_ENDS = frozenset(word_list("top bottom front back start beginning end head"))
_LISTED = frozenset(
    word_list("table list rows lines entries results items column columns records messages files tickets issues")
)
_KEYS = frozenset(
    word_list("size name date title price age time number id status priority type author rating amount alphabet")
)  # by which a list is put in order
_POINTED = frozenset(word_list("icon button link arrow address url symbol"))
_OPENS_UNSPACED = ("打开", "开启", "開く", "查看", "查找")
_TEXTS = frozenset(
    word_list(
        "text texts character characters letter letters word words content contents value query digit digits input "
        "line typo number placeholder selection"
    )
)  # what is edited, and typed again at will


@lru_cache(maxsize=1024)
def says_final(intent: str) -> bool:
    """Whether an intent says so of what it does."""
    return says_final_in_part(intent, announced=False)


@lru_cache(maxsize=1024)
def says_final_in_part(intent: str, announced: bool = True) -> bool:
    """Whether it says so of anything that is done, also of what is `announced` to be done after the first thing."""
    parts = clauses(intent)
    retries = not _RETRIES.isdisjoint(words_of(intent))
    for number, clause in enumerate(parts):
        if clause.announces and not announced:
            continue
        if _is_final(clause, retries):
            return True
        if number and clause.words and _goes_on_passive(parts[number - 1], clause):
            return True
        if clause.points_back and any(earlier.looks and _looks_at_final(earlier) for earlier in parts[:number]):
            return True
    return any(map(is_unspaced, intent)) and _says_final_unspaced(intent)


@lru_cache(maxsize=1024)
def names_final(intent: str) -> bool:
    """Whether what an intent presses has a name that is irreversible."""
    return any(clause.target and not clause.opens and is_final_label(clause.target) for clause in clauses(intent))


@lru_cache(maxsize=1024)
def drags_to_delete(intent: str) -> bool:
    """Whether something is dragged to be deleted, or into a bin."""
    words = words_of(intent)
    if "select" in words or "highlight" in words:
        return False
    return says_final(intent) or bool(_into(words)) or holds_unspaced(intent)


def edits_text(intent: str) -> bool:
    """Whether what is deleted is a text that is being edited: it can be typed again."""
    objects = [head for clause in clauses(intent) for head in _objects(clause.words)]
    return bool(objects) and all(head in _TEXTS for head in objects)


def _is_final(clause: Clause, retries: bool) -> bool:
    if clause.types or _selects(clause) or (clause.opens and not _acts_within(clause)):
        return False
    if clause.looks:
        pressed = clause.target is not None and is_final_label(clause.target)
        return pressed or (not _POINTED.isdisjoint(_before_purpose(clause.words)) and _acts(_purpose(clause.words)))
    if clause.target is None:
        return _acts(clause.words, retries)
    if is_final_label(clause.target) or holds_phrase(clause.words) or _acts(clause.before):
        return True
    return not _put_off(clause.rest) and (_acts(clause.rest, retries) or _acts_within(clause))


def _goes_on_passive(earlier: Clause, clause: Clause) -> bool:
    """Whether a clause is one more participle to an earlier one: "so that it is removed and deleted"."""
    joined = (*earlier.words, *clause.words[:1])
    return not earlier.looks and _is_participle(clause.words[0]) and _is_passive(joined, len(earlier.words))


def _acts_within(clause: Clause) -> bool:
    """Whether the words behind the first of a target say so: "clicking the red one deletes the row"."""
    words = words_of(clause.target or "")
    return any(_stem(words[at]) != words[at] and _is_done(words, at, False) for at in range(1, len(words)))


def _looks_at_final(clause: Clause) -> bool:
    """Whether what is looked for is a control with an irreversible name."""
    words = clause.words[1:]
    while words and words[0] in _DETERMINERS | {"for", "at", "to"}:
        words = words[1:]
    return bool(words) and is_final_label(" ".join(word for word in words if word not in _POINTED))


def _selects(clause: Clause) -> bool:
    """Whether it selects text or all there is."""
    words = clause.words
    return bool(words) and words[0] in ("select", "highlight") and not _TEXTS.union(("all",)).isdisjoint(words[1:4])


def _put_off(words: tuple[str, ...]) -> bool:
    """Whether what a press is for is put off: "to send the mail later"."""
    return bool(words) and words[0] == "to" and words[-1] in LATER


def _purpose(words: tuple[str, ...]) -> tuple[str, ...]:
    at = next((at for at, word in enumerate(words) if at and word == "to"), len(words))
    return words[at:]


def _before_purpose(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[: len(words) - len(_purpose(words))]


def _acts(words: tuple[str, ...], retries: bool = False) -> bool:
    """Whether words say anywhere that something irreversible is done."""
    return (
        any(_is_done(words, at, retries) for at in range(len(words)))
        or holds_phrase(words)
        or carries_out(words)
        or (not _MOVES.isdisjoint(words) and bool(_into(words)))
    )


def _is_done(words: tuple[str, ...], at: int, retries: bool) -> bool:
    """Whether the word at a place is an irreversible verb, of something that is done."""
    if in_harmless_phrase(words, at) or _moves(words, at) or _sorts(words, at):
        return False
    if is_denied(words, at) and not (retries and not _PAST.isdisjoint(words[:at])):
        return False
    word, before = words[at], words[at - 1] if at else ""
    if _is_participle(word):
        return _is_passive(words, at)
    if word.endswith("ing"):
        is_noun = before in ("before", "after") or words[at + 1 : at + 2] in (("is",), ("are",))  # "deleting is there"
        return not is_noun and _is_form(words, at)
    if before in _DETERMINERS | _PLACES and before != "that":
        return False
    if before == "to" and at > 1 and words[at - 2] in _MOTIONS:
        return False
    return _is_form(words, at)


def _is_form(words: tuple[str, ...], at: int) -> bool:
    """Whether a word is an irreversible verb: as it stands, or an English one with an ending."""
    word, before, after = words[at], words[at - 1] if at else "", words[at + 1 : at + 2]
    stem = _stem(word)
    if stem in GRAVE:
        return not GRAVE[stem].isdisjoint(words[at + 1 : at + 5])
    if stem in NOUNS_TOO:
        if not AFTER_NOUN.isdisjoint(after):
            return False
        commands = at == 0 or before in ("and", "then", "will", "now", "i", "we", "&", "which", "to", "or")
        return commands or is_lead_in(before) or word.endswith("ing")
    return stem in VERBS or acts_at(words, at)


def _stem(word: str) -> str:
    """An English verb without its ending: "deleting", "sends", "deleted"."""
    if word in VERBS or word in NOUNS_TOO or word in GRAVE:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            doubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
            for one in (stem, stem + "e", doubled):
                if one in VERBS or one in NOUNS_TOO or one in GRAVE:
                    return one
    return word


def _is_participle(word: str) -> bool:
    return word in _IRREGULAR or (word.endswith("ed") and _stem(word) != word)


def _is_passive(words: tuple[str, ...], at: int) -> bool:
    """Whether a participle says what becomes of a thing ("so that it is deleted"), and not what it is like."""
    stem = _stem(words[at])
    if stem not in VERBS | NOUNS_TOO | GRAVE.keys() or not LATER.isdisjoint(words[at + 1 :]):
        return False
    start = max(0, at - 5)
    carriers = [place for place in range(start, at) if words[place] in _PASSIVES]
    if not carriers:
        return False
    first = carriers[0]
    described = first and words[first] in _STATES and words[first - 1] in ("that", "which", "who", "what")
    purposeful = first > 1 and words[first - 2] == "so"
    past = words[first] in ("was", "were", "had") and first == at - 1
    return purposeful or not (described or past)


def _moves(words: tuple[str, ...], at: int) -> bool:
    """Whether something is sent to another place among its like: "send the shape to the back", "... to the top of the
    queue"."""
    after = words[at + 1 :]
    ends = [place for place, word in enumerate(after) if word in _ENDS and {"to", "very"} & {*after[:place]}]
    if _stem(words[at]) == "send" and any(after[place + 1 : place + 2] in ((), ("of",)) for place in ends):
        return True
    stacked = "backward" in after or "backwards" in after or (after and after[-1] in ("back", "front"))
    return _stem(words[at]) == "send" and bool(stacked) and ("to" in after or after[-1] not in ("back", "front"))


def _sorts(words: tuple[str, ...], at: int) -> bool:
    """Whether a list is put in order: "order the table by size"."""
    after = words[at + 1 : at + 7]
    by = after.index("by") if "by" in after else len(after)
    return _stem(words[at]) == "order" and (
        not _KEYS.isdisjoint(after[by:]) or ("by" in after and not _LISTED.isdisjoint(after[:by]))
    )


def _objects(words: tuple[str, ...]) -> list[str]:
    """The heads of what verbs that delete act on; nothing where only the key is named."""
    heads = []
    for at, word in enumerate(words):
        if _stem(word) not in ("delete", "erase", "overwrite", "replace", "remove", "select", "clear"):
            continue
        end = at + 1
        while end < len(words) and words[end] not in INTO | _PLACES | {"to", "that", "which", "again", "with"}:
            end += 1
        if end > at + 1:
            heads.append(words[end - 1])
    return heads


def _into(words: tuple[str, ...]) -> list[int]:
    """Where a bin is named as a goal: after a word of direction."""
    bins = [at for at, word in enumerate(words) if word in BINS]
    return [at for at in bins if INTO & {*words[:at]}]


def _says_final_unspaced(intent: str) -> bool:
    """The same in a script without blanks, clause by clause."""
    parts = clauses(intent)
    return any(
        not part.looks and not part.words[0].startswith(_OPENS_UNSPACED) and holds_unspaced("".join(part.words))
        for part in parts
        if part.words
    )
