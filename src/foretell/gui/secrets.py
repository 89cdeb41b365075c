"""Typed secrets: which proposals and texts hold any, and the same with dots in their place."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from foretell.gui.actions import CLICKS, ENDINGS, Action, Kind
from foretell.gui.claims import DOTS, HIDDEN_KEY
from foretell.gui.observation import Proposal
from foretell.gui.secret_looks import secret_looks
from foretell.gui.secret_pieces import written, written_keys
from foretell.gui.secret_spans import PUNCTUATION, WORD, spans
from foretell.gui.secret_words import composed

if TYPE_CHECKING:
    from foretell.gui.evidence import Evidence

PASSWORD = "password"  # the role of a field for one
_QUOTED = re.compile(r'"[^"\n]+"|[“„][^”“„\n]+[”“]|«[^«»\n]+»|「[^「」\n]+」|『[^『』\n]+』|(?<!\w)\'[^\'\n]+\'(?!\w)')
MOST_CHARACTERS = 20_000  # of a text that tells a secret
MOST_WORDS = 10_000  # of an intent or a fault
_MOST_BLANKS = 1_000  # characters of a text in which runs of blanks may stay
_BLANKS = re.compile(r"\s{8,}")
MOST_LOOKED_AT = 100_000  # a longer text counts as one that tells a secret: nobody looks through it
_HIDES = frozenset((Kind.TYPE, Kind.ANSWER, Kind.KEY, Kind.NAVIGATE, Kind.TERMINATE))


def looked_at(proposal: Proposal) -> Proposal:
    """The proposal with no more of its words than can be looked through; the same one where it has no more."""
    intent, fault = proposal.intent, proposal.fault
    return replace(
        proposal,
        intent=None if intent is None else _bounded(intent),
        fault=None if fault is None else _bounded(fault),
        raw=_bounded(proposal.raw, MOST_LOOKED_AT),
    )


def _bounded(text: str, most: int = MOST_WORDS) -> str:
    if len(text) <= _MOST_BLANKS:
        return text
    text = _BLANKS.sub(lambda run: run.group()[0], text[: 2 * most])
    return text if len(text) <= most else f"{text[: most - 1]}…"


def mentions_secret(*texts: str | None) -> bool:
    """Whether any text speaks of a password, a PIN, a token or the like, or holds one."""
    return any(text is not None and _speaks(text) for text in texts)


@lru_cache(maxsize=64)  # a step asks about the same few texts many times
def _speaks(text: str) -> bool:
    if len(text) > MOST_LOOKED_AT:
        return True
    plain = composed(text)
    wide = unicodedata.normalize("NFKC", plain)
    return any(WORD.search(one) is not None or bool(secret_looks(one)) for one in {plain, wide})


def is_secret(proposal: Proposal, goal: str | None) -> bool:
    """Whether what the proposal types may be a secret: it or the goal says so, or it looks like one."""
    addresses = (action.text for action in proposal.actions if action.kind is Kind.NAVIGATE)
    return proposal.secret or mentions_secret(proposal.intent, goal, *addresses) or looks_secret(proposal)


def looks_secret(proposal: Proposal) -> bool:
    """Whether something that the proposal types, be it in pieces, is a secret by its looks: a token, a key, a card."""
    pieces = [written(action) for action in proposal.actions]
    texts = {*typed_texts(proposal), "".join(pieces), "\n".join(pieces)}
    return any(len(text) > MOST_LOOKED_AT or bool(secret_looks(text)) for text in texts)


def types_into_password(proposal: Proposal, evidence: Evidence | None) -> bool:
    """Whether something is typed into what the page says is a field for a password."""
    if evidence is None:
        return False
    focused = evidence.focused
    for action in proposal.actions:
        if action.point is not None and (action.kind in CLICKS or action.kind is Kind.TYPE):
            focused = evidence.at.get(action.point, focused)
        if (
            focused is not None
            and focused.role.lower() == PASSWORD
            and (action.kind is Kind.TYPE or written_keys(action))
        ):
            return True
    return False


def types(proposal: Proposal) -> bool:
    """Whether the proposal writes anything."""
    return any(action.kind in _HIDES and (action.text or written_keys(action)) for action in proposal.actions)


def typed_texts(proposal: Proposal) -> tuple[str, ...]:
    """What the proposal would type, as far as it is long enough to be a secret by itself.

    Of what an agent says at the end it is only what tells a secret: the rest are ordinary words.
    """
    found: list[str] = []
    for action in proposal.actions:
        if action.kind not in _HIDES or not action.text or len(action.text.strip()) < 2:
            continue
        found += told_secrets(action.text) if action.kind in ENDINGS else ()
        found += (action.text,) if action.kind is not Kind.TERMINATE else ()
    return tuple(found)


def typed_letters(action: Action) -> tuple[str, ...]:
    """The single letters that an action writes, as text or as keys: parts of a secret that is sent piece by piece."""
    alone = action.text is not None and len(action.text.strip()) == 1 and action.kind in _HIDES
    return ((action.text.strip(),) if alone and action.text else ()) + written_keys(action)


def hidden_action(action: Action) -> Action:
    """The action with dots for what it types. Keys that write nothing, such as enter or ctrl + a, are left."""
    if action.kind not in _HIDES:
        return action
    written = written_keys(action)
    keys = tuple(HIDDEN_KEY if key in written else key for key in action.keys)
    return replace(action, text=DOTS if action.text else action.text, keys=keys)


def hidden_proposal(proposal: Proposal) -> Proposal:
    """The proposal with dots for what it types and for the secrets that its intent tells, and without its raw text."""
    return replace(
        proposal,
        actions=tuple(hidden_action(action) for action in proposal.actions),
        intent=None if proposal.intent is None else hidden_words(proposal.intent),
        raw="",
        fault=None if proposal.fault is None else hidden_words(proposal.fault),
    )


def hidden_endings(proposal: Proposal) -> Proposal:
    """The proposal with dots for the secrets that what it says at the end tells."""
    actions = (
        replace(action, text=hidden_goal(action.text)) if action.kind in ENDINGS and action.text else action
        for action in proposal.actions
    )
    return replace(proposal, actions=tuple(actions))


def hidden_goal(goal: str) -> str:
    """A goal, or any text, with dots for the secrets that it tells, where it speaks of any."""
    return hidden_words(goal) if mentions_secret(goal) else goal


def hidden_words(text: str) -> str:
    """Dots for whatever a text that is about a secret quotes, or spells out after such a word or a verb of typing.

    Only the beginning of a very long text is looked at, and left.
    """
    text = composed(text)
    text = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    parts, at = [], 0
    for begin, end in spans(text):
        parts += [text[at:begin], DOTS]
        at = end
    return _QUOTED.sub(lambda m: f"{m.group(0)[0]}{DOTS}{m.group(0)[-1]}", "".join([*parts, text[at:]]))


def told_secrets(text: str) -> tuple[str, ...]:
    """What a text that is about a secret tells of it, as far as it is surely none of the ordinary words."""
    text = composed(text)[:MOST_CHARACTERS]
    return tuple(text[begin:end].strip(PUNCTUATION) for begin, end in spans(text, sure=True))
