"""Actions that cannot be taken back (send, delete, pay, overwrite): they pass at a lower error probability only.

What counts is the label under the point and what the agent says it does. A word of that kind in the goal alone makes no
action final: most steps towards sending a mail are harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from foretell.gui.actions import CLICKS, Kind
from foretell.gui.lexicon import FINAL
from foretell.gui.observation import Observation, Proposal
from foretell.gui.target import target_of
from foretell.gui.wording import folded, is_unspaced, tokens

EVIDENCE = "irreversible"  # the name under which critics report that the label under the point is final
MOST_P_BAD = 0.5
_LABEL_WORDS = 5
_LONG = tuple(word for word in FINAL if len(word) >= 6)  # shorter words have too many neighbours
_THIN = frozenset("il")
_PRESSES = frozenset(("enter", "return", "delete"))
_FOR_GOOD = frozenset(("shift", "delete"))  # pressed together they delete without a bin

Confirm = Callable[[Observation, Proposal], bool]


@dataclass(frozen=True)
class RiskTier:
    """What an irreversible action needs to pass: P(bad) of at most `most_p_bad`, or a yes from `confirm`.

    `confirm` asks whoever is responsible, and is given the observation and the proposal. Without it an agent may
    confirm a doubtful action by proposing it again, as long as it stays below the guard's ordinary threshold.
    """

    most_p_bad: float = MOST_P_BAD
    confirm: Confirm | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.most_p_bad <= 1.0:
            raise ValueError(f"most_p_bad is a probability from 0 to 1, got {self.most_p_bad!r}")


def is_final_label(text: str, read: bool = False) -> bool:
    """Whether a label names something that cannot be taken back; paragraphs are no labels.

    A label that was `read` off a screen may be misread in a letter or two ("Dete all").
    """
    words = tokens(folded(text))
    if not 0 < len(words) <= _LABEL_WORDS:
        return False
    joined = folded(text)
    return any(word in FINAL or (read and _is_misread(word)) for word in words) or (
        len(joined) <= 12 and any(len(word) > 1 and is_unspaced(word[0]) and word in joined for word in FINAL)
    )


@lru_cache(maxsize=4096)
def _is_misread(word: str) -> bool:
    """Whether a word may be a long irreversible one of which letters were lost or one was taken for another.

    Readers lose a letter, or a thin one together with its neighbour; the first and the last are there. Anything looser
    takes ordinary words for irreversible ones: "done" for "donate", "design" for "resign", "sender" for "senden".
    """
    alike = [final for final in _LONG if (word[0], word[-1]) == (final[0], final[-1])]
    return any(_has_lost(word, final) or _differs_once(word, final) for final in alike)


def _has_lost(word: str, final: str) -> bool:
    lost = len(final) - len(word)
    return lost in (1, 2) and any(
        word == final[:at] + final[at + lost :] and (lost == 1 or not _THIN.isdisjoint(final[at : at + lost]))
        for at in range(1, len(final) - lost)
    )


def _differs_once(word: str, final: str) -> bool:
    return len(word) == len(final) and sum(a != b for a, b in zip(word, final, strict=True)) == 1


def is_final(proposal: Proposal) -> bool:
    """Whether an agent says that it sends, deletes, pays or overwrites something with this proposal."""
    for action in proposal.actions:
        if action.kind is Kind.KEY and {key.lower() for key in action.keys} >= _FOR_GOOD:
            return True
    acts = any(
        action.kind in CLICKS or (action.kind is Kind.KEY and _PRESSES & {key.lower() for key in action.keys})
        for action in proposal.actions
    )
    if not acts or not proposal.intent:
        return False
    target = target_of(proposal.intent)
    if target.names:
        return any(is_final_label(name) for name in target.names)
    return any(word in FINAL for word in tokens(folded(proposal.intent))[:3])
