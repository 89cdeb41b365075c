"""A goal as a plan of clauses: which of them the history has dealt with, which is due, and which one a proposal serves.

"Open 'Notes', then enter 'plum' as Title" has two clauses. What was done is told twice, by words (the last clause that
a step's intent, text or achievement speaks of) and by counting steps, since neither is sure: intents are reworded, and
some steps serve no clause.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from foretell.gui.actions import CLICKS, Action, Kind
from foretell.gui.history import History
from foretell.gui.pointing import NONE, Features, word_at
from foretell.gui.sight import Sight
from foretell.gui.target import target_of
from foretell.gui.wording import Wording, alike, content, folded, is_readable, part_of, tokens, word_list, wording

_MOST_CHARACTERS = 4096
_BREAK = re.compile(
    r"[.;!?]\s+(?:then\s+|next,?\s+|finally,?\s+|after that,?\s+)?|,\s*(?:and\s+)?(?:then\s+|finally\s+)?|"
    r"(?<!\s)\s+and\s+(?:then\s+|finally\s+)?|(?<!\s)\s+then\s+",
    re.IGNORECASE,
)
_VERBS = frozenset(
    word_list(
        "click press tap hit select choose pick open go show use tick untick check uncheck turn switch enter type "
        "write set fill put look find search activate focus add create delete remove send save close sign log scroll "
        "drag move expand collapse submit change edit rename copy paste clear view follow navigate visit start stop "
        "run mark unmark enable disable confirm cancel accept wait hover double-click right-click upload assign sort "
        "filter"
    )
)
_ENTERS = frozenset(word_list("enter type write set fill put look find use search"))
_OPENINGS = frozenset(word_list("please then now next finally first afterwards"))
_MATCHES = 0.6  # of a clause's or a step's words: the step speaks of the clause


@dataclass(frozen=True)
class Clause:
    """One part of a goal: its text, the words after its leading verb, and its quoted phrases (`values`)."""

    text: str
    about: str
    values: tuple[str, ...]


@lru_cache(maxsize=512)
def clauses_of(goal: str) -> tuple[Clause, ...]:
    """The clauses of a goal, in order; at least one. A part that begins with no verb belongs to the one before it.

    Of a goal that is longer than any that people set, the beginning is read.
    """
    goal = goal[:_MOST_CHARACTERS]
    masked = goal
    for phrase in wording(goal).quoted:
        masked = masked.replace(phrase, "\0" * len(phrase))
    breaks = list(_BREAK.finditer(masked))
    starts, ends = [0, *(one.end() for one in breaks)], [*(one.start() for one in breaks), len(goal)]
    parts: list[str] = []
    for start, end in zip(starts, ends, strict=True):
        piece = goal[start:end].strip(" .")
        if not piece:
            continue
        if parts and (not _begins(parts[0]) and len(parts) == 1 and _begins(piece)):
            parts[0] = piece  # "In Trac, open ..."
        elif parts and not _begins(piece):
            parts[-1] = f"{parts[-1]} {piece}"
        else:
            parts.append(piece)
    return tuple(map(_clause, parts or [goal]))


def _begins(piece: str) -> bool:
    """Whether a piece of a goal begins with a verb, or with a title and a colon before one."""
    words = [word for word in tokens(piece.split(": ", 1)[-1]) if word not in _OPENINGS]
    return bool(words) and words[0] in _VERBS


def _clause(text: str) -> Clause:
    plain = text.split(": ", 1)[-1] if ": " in text and _begins(text) else text
    words = list(tokens(plain))
    while words and words[0] in _OPENINGS:
        words.pop(0)
    if words and words[0] in _VERBS:
        words.pop(0)
    about = " ".join(words) or plain
    return Clause(plain, about, wording(plain).quoted)


@dataclass(frozen=True)
class Course:
    """Progress along a plan: clauses done, judged by words and by counting steps. The next one by words is due."""

    clauses: tuple[Clause, ...]
    by_words: int
    by_count: int

    def clause(self, number: int) -> Clause:
        return self.clauses[min(max(0, number), len(self.clauses) - 1)]


def course(goal: str, history: History) -> Course:
    """Follow a history along the clauses of a goal."""
    clauses = clauses_of(goal)
    done, achieved = 0, 0
    for step in history.steps:
        if step.action.kind in (Kind.SCROLL, Kind.WAIT, Kind.MOVE):
            continue
        said = f"{step.intent or ''} {step.action.text or ''}".strip()
        done = _advance(clauses, done, said, step.action)
    for one in history.achieved:
        achieved = _advance(clauses, achieved, one, None)
    return Course(clauses, max(done, achieved), min(len(clauses), _counted(history)))


def _advance(clauses: Sequence[Clause], done: int, said: str, action: Action | None) -> int:
    """The number of clauses done after a step described by `said`, which may match the clause before, at or after."""
    if not said:
        return done
    for number in range(max(0, done - 1), min(len(clauses), done + 2)):
        clause = clauses[number]
        if serves(clause, said) >= _MATCHES:
            typed = any(folded(value) in folded(said) for value in clause.values)
            begun = action is not None and action.kind in CLICKS and _types(clause) and not typed
            return max(done, number if begun else number + 1)
    return done


def _types(clause: Clause) -> bool:
    """Whether a clause asks for a text to be entered."""
    words = [word for word in tokens(clause.text) if word not in _OPENINGS]
    return bool(clause.values) and bool(words) and words[0] in _ENTERS


def _counted(history: History) -> int:
    """Steps that may each have served a clause: a text after a click, and a key after a text, belong to one."""
    count, last = 0, None
    for step in history.steps:
        kind = step.action.kind
        if kind in (Kind.SCROLL, Kind.WAIT, Kind.MOVE):
            continue
        joins = (kind is Kind.TYPE and last in CLICKS) or (kind is Kind.KEY and last is Kind.TYPE)
        count += not joins
        last = kind
    return count


def serves(clause: Clause, said: str) -> float:
    """How much a text speaks of a clause, 0 to 1: the clause's words that it has, or its own words that the clause has.

    The words after a step's verb alone count; "click" is in all of them.
    """
    own = " ".join(content(said))
    if not own or not content(clause.about):
        return 0.0
    return max(part_of(clause.about, said), 0.9 * part_of(_named(said), clause.text))


def _named(said: str) -> str:
    """What an intent acts on, or all of its words."""
    names = target_of(said).names
    return names[-1] if names else said


def plan_features(
    sight: Sight, action: Action | None, history: History, goal: Wording, intent: Wording | None
) -> Features:
    """How far the goal's plan is, and whether the proposal serves the clause that is due, another one, or none."""
    names = "clauses words count left left_count ahead last_served value_typed"
    found = dict.fromkeys(names.split(), NONE)
    for source in ("intent", "label", "text"):
        for clause in ("due", "counted", "final", "best", "past", "covers", "covers_best"):
            found[f"{source}_{clause}"] = NONE
    if not is_readable(goal.text):
        return found
    at = course(goal.text, history)
    total = len(at.clauses)
    found["clauses"], found["words"], found["count"] = float(total), float(at.by_words), float(at.by_count)
    found["left"], found["left_count"] = float(total - at.by_words), float(total - at.by_count)
    found["ahead"] = float(at.by_words - at.by_count)
    last = next((step for step in reversed(history.steps) if step.action.kind is not Kind.SCROLL), None)
    if last is not None:
        said = f"{last.intent or ''} {last.action.text or ''} {history.achieved[-1] if history.achieved else ''}"
        found["last_served"] = serves(at.clauses[-1], said)
    if action is None:
        return found
    due = at.clause(at.by_words)
    found["value_typed"] = float(
        any(alike(value, step.action.text or "") > 0.95 for value in due.values for step in history.steps)
    )
    if intent is not None:
        texts = list(target_of(intent.text).names[-1:]) or [intent.text]
        found |= _against(at, "intent", [*texts, *intent.quoted[:1]])
    if action.point is not None:
        found |= _against(at, "label", _labels(sight, action.point.x, action.point.y))
    if action.text:
        found |= _against(at, "text", [action.text.strip("\n")])
    return found


def _labels(sight: Sight, x: float, y: float) -> list[str]:
    """What is written at a point and beside it, without paragraphs."""
    here = sight.places.under(x, y)
    own = [] if here is None or here.kind == "panel" else [here.text, here.label]
    texts = [*own, word_at(sight.places.words, x, y)]
    return [text for text in texts if text and len(tokens(text)) <= 12]


def _against(at: Course, source: str, texts: Sequence[str]) -> Features:
    """How well some texts fit the clause that is due by words, by count, the last one, any, and those done."""
    texts = [text for text in texts if any(c.isalnum() for c in text)]
    if not texts:
        return {}
    fits = [max(part_of(text, clause.text) for text in texts) for clause in at.clauses]
    covers = [max(part_of(clause.about, text) for text in texts) for clause in at.clauses]
    words, count = (min(number, len(fits) - 1) for number in (at.by_words, at.by_count))
    return {
        f"{source}_due": fits[words],
        f"{source}_counted": fits[count],
        f"{source}_final": fits[-1],
        f"{source}_best": max(fits),
        f"{source}_past": max(fits[: at.by_words], default=NONE),
        f"{source}_covers": covers[words],
        f"{source}_covers_best": max(covers),
    }
