"""Reading a language model's answer: strict about what it says, forgiving about what surrounds it. Pure.

An answer is one JSON object with `p_fail` and `bins`, as `belief.bins` has it; prose, code fences and a model's
thinking may stand around it. Whatever could be understood in two ways is a misreading with its kind, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foretell.belief import bins
from foretell.lm.object import NoObject, find_object

FAILURE_KEY = "X"  # the one-token answer for "it fails", beside the keys of the bins
CHOICES = (*bins.KEYS, FAILURE_KEY)

MAX_CHARACTERS = 200_000  # no honest answer is longer
SUM_SLACK = 0.25  # how far from one the bins may sum and still be an answer with rounding errors
ROUNDING = 0.005  # a sum this close to one needs no remark
LEAST_MASS = 0.01  # probability that the choices must have together for the model to have answered with one


class Misread(StrEnum):
    """Why an answer could not be read. Closed."""

    TOO_LONG = "too_long"
    NO_ANSWER = "no_answer"  # no JSON object with `bins` in it
    BROKEN_JSON = "broken_json"
    TWO_ANSWERS = "two_answers"  # two objects that say different things, or one key twice
    BAD_KEYS = "bad_keys"
    BAD_NUMBER = "bad_number"  # not a number, not finite, negative or above one
    BAD_SUM = "bad_sum"
    OFF_FORM = "off_form"  # the model wanted to say something else than one of the choices


@dataclass(frozen=True)
class Answer:
    """A chance of failure, and bin probabilities that sum to one; `total` is what they summed to before."""

    p_fail: float
    probs: tuple[float, ...]
    total: float

    @property
    def renormalised(self) -> bool:
        return abs(self.total - 1.0) > ROUNDING


@dataclass(frozen=True)
class Unreadable:
    """No answer, and why; `message` can be shown to the model that is to try again."""

    kind: Misread
    message: str


def read(text: str) -> Answer | Unreadable:
    """The distribution that an answer's text states. Takes time linear in its length, whatever it holds."""
    if len(text) > MAX_CHARACTERS:
        return Unreadable(Misread.TOO_LONG, f"the answer has {len(text)} characters; a few hundred are enough")
    found = find_object(text, "bins")
    return Unreadable(Misread(found.flaw.value), found.message) if isinstance(found, NoObject) else read_object(found)


def read_object(data: Mapping[str, Any]) -> Answer | Unreadable:
    """The distribution that a parsed object states.

    Sums within `SUM_SLACK` of one are rounding. Percentages are understood where `p_fail` is one too, or 0; a `p_fail`
    between 0 and 1 beside bins in percent could mean either, and is a bad sum.
    """
    stated = data.get("bins")
    if not isinstance(stated, Mapping) or set(stated) != set(bins.KEYS) or "p_fail" not in data:
        wanted = ", ".join(bins.KEYS)
        return Unreadable(Misread.BAD_KEYS, f"the object needs 'p_fail' and 'bins' with exactly the keys {wanted}")
    numbers = {"p_fail": data["p_fail"], **stated}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not _plain(value):
            shown = repr(value)[:40]
            return Unreadable(Misread.BAD_NUMBER, f"{name} must be a plain number from 0 to 1, got {shown}")
    total, p_fail = math.fsum(float(stated[key]) for key in bins.KEYS), float(data["p_fail"])
    percent = abs(total / 100.0 - 1.0) <= SUM_SLACK and (p_fail == 0.0 or p_fail > 1.0)
    if not percent and abs(total - 1.0) > SUM_SLACK:
        return Unreadable(Misread.BAD_SUM, f"the probabilities in 'bins' sum to {total:g}; they must sum to 1")
    if percent:
        p_fail /= 100.0
    try:
        p_fail, probs = bins.read_answer({"p_fail": p_fail, "bins": dict(stated)})
    except ValueError as error:
        return Unreadable(Misread.BAD_NUMBER, str(error))
    return Answer(p_fail, probs, total)


def read_choices(choice_probs: Mapping[str, float]) -> Answer | Unreadable:
    """The distribution in the probabilities of the one-token answers; `total` is what all nine had together."""
    if not all(0.0 <= choice_probs.get(key, 0.0) <= 1.0 + ROUNDING for key in CHOICES):
        return Unreadable(Misread.OFF_FORM, "the probabilities of the choices are not all numbers from 0 to 1")
    total = math.fsum(choice_probs.get(key, 0.0) for key in CHOICES)
    works = math.fsum(choice_probs.get(key, 0.0) for key in bins.KEYS)
    if total < LEAST_MASS:
        return Unreadable(Misread.OFF_FORM, f"only {total:.2g} of the probability is on one of {', '.join(CHOICES)}")
    p_fail = min(1.0, max(0.0, 1.0 - works / total))
    probs = [choice_probs.get(key, 0.0) / works if works > 0.0 else 1.0 / bins.N_BINS for key in bins.KEYS]
    return Answer(p_fail, tuple(probs), total)


def _plain(value: int | float) -> bool:
    """Whether a number is finite and not negative; integers too long for a float are not."""
    return 0 <= value <= 1e6
