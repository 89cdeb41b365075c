"""Distributions in few tokens: `X 2, E 31, F 55, G 12`, hundredths by key, what is not named being nothing. Pure.

A written answer is such a line behind `Answer:`; reasoning may stand before it. As in `answer`, whatever could be
understood in two ways is a misreading with its kind, never a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from foretell.belief import bins
from foretell.kernels.forecast.answer import FAILURE_KEY, MAX_CHARACTERS, SUM_SLACK, Answer, Misread, Unreadable

MARK = "Answer:"
KEYS = (FAILURE_KEY, *bins.KEYS)
_PART = re.compile(rf"([{''.join(KEYS)}]) (\d{{1,3}}(?:\.\d{{1,6}})?)")


def say(p_fail: float, probs: Sequence[float]) -> str:
    """A chance of failure and bin probabilities given success, rounded so that the hundredths sum to a hundred."""
    chances = [p_fail, *((1.0 - p_fail) * p for p in probs)]
    total = math.fsum(chances)
    exact = [100.0 * chance / total for chance in chances]
    whole = [math.floor(one) for one in exact]
    for i in sorted(range(len(exact)), key=lambda i: whole[i] - exact[i])[: 100 - sum(whole)]:
        whole[i] += 1
    return ", ".join(f"{key} {n}" for key, n in zip(KEYS, whole, strict=True) if n)


def read(text: str) -> Answer | Unreadable:
    """The distribution that the line behind the last mark states."""
    if len(text) > MAX_CHARACTERS:
        return Unreadable(Misread.TOO_LONG, f"the answer has {len(text)} characters; a line is enough")
    _, mark, rest = text.rpartition(MARK)
    line = rest.strip().partition("\n")[0].strip().rstrip(".")
    if not mark or not line:
        return Unreadable(Misread.NO_ANSWER, f"there is no line {MARK!r} with hundredths")
    found = [_PART.fullmatch(part.strip()) for part in line.split(",")]
    named = [match for match in found if match is not None]
    if len(named) < len(found):
        return Unreadable(Misread.BAD_KEYS, f"hundredths are stated as in 'D 10, E 90', with keys {', '.join(KEYS)}")
    stated = {match[1]: float(match[2]) for match in named}
    if len(stated) < len(named):
        return Unreadable(Misread.TWO_ANSWERS, "a key is named twice")
    total = math.fsum(stated.values()) / 100.0
    if abs(total - 1.0) > SUM_SLACK:
        return Unreadable(Misread.BAD_SUM, f"the hundredths sum to {100.0 * total:g}; they must sum to 100")
    p_fail = stated.get(FAILURE_KEY, 0.0) / (100.0 * total)
    works = math.fsum(stated.get(key, 0.0) for key in bins.KEYS)
    probs = [stated.get(key, 0.0) / works if works > 0.0 else 1.0 / bins.N_BINS for key in bins.KEYS]
    return Answer(p_fail, tuple(probs), total)
