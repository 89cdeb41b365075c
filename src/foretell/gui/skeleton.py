"""Texts reduced to what no spelling of them changes: letters and figures in one case, and where gaps were between them.

Quoting takes signs away, puts blanks or apostrophes in their place, narrows wide letters and cuts; escaping adds
backslashes; readers put blanks in. None of this changes the skeleton of what is left.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

SEED = 4  # characters by which a secret is looked for; one of fewer is hidden only where it stands alone
_LEAST_CUT = 4  # characters of the beginning of a secret that is cut
_MOST_CUT = 4_096
_MOST_BEGUN = 64  # characters of a secret of which the beginning alone is hidden, too
_FORGIVING_FROM = 8  # characters of a secret in which a reader may have put blanks
_IGNORED = frozenset("\u115f\u1160\u3164\uffa0")  # letters of which nothing is seen
_CUTS = ("…", "...", "\\u2026")


@lru_cache(maxsize=4096)
def _folded(one: str) -> str:
    """A character as letters and figures in one case; empty for a sign or blank, "\\0" for a mark or the unseen."""
    if one in _IGNORED or unicodedata.category(one) in ("Cf", "Mn", "Mc", "Me"):
        return "\0"
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", one).casefold())
    return "".join("i" if c == "ı" else c for c in plain if c.isalnum())


@dataclass(frozen=True, eq=False)
class Skeleton:
    """`letters` of a `text`; `at` where each stands in it; `gap` whether signs or blanks come before it.

    `gap` is "" for none, " " for a single blank, and another text for anything else.
    """

    text: str
    letters: str
    at: Sequence[int]
    gaps: Sequence[str]

    @staticmethod
    def of(text: str) -> Skeleton:
        letters: list[str] = []
        at: list[int] = []
        gaps: list[str] = []
        gap = ""
        for index, one in enumerate(text):
            folded = one.lower() if one.isascii() and one.isalnum() else _folded(one)
            if folded == "\0":
                continue
            if not folded:
                gap = one if not gap else "  "
                continue
            for number, letter in enumerate(folded):
                letters.append(letter)
                at.append(index)
                gaps.append("" if number else gap)
            gap = ""
        return Skeleton(text, "".join(letters), at, gaps)


@dataclass(frozen=True)
class Hidden:
    """One spelling of a secret: its skeleton, with the gaps before each letter, and the signs at both ends.

    One without letters is `exact`.
    """

    letters: str
    gaps: tuple[bool, ...]
    leading: str
    trailing: str
    exact: str = ""

    @staticmethod
    def of(text: str) -> Hidden:
        bones = Skeleton.of(text)
        if not bones.letters:
            return Hidden("", (), "", "", text)
        first, last = bones.at[0], bones.at[-1]
        gaps = (False, *(bool(gap) for gap in bones.gaps[1:]))
        # Short as a skeleton, but not as it is written: known anywhere as it is written.
        exact = text if len(bones.letters) < SEED <= len(text) else ""
        return Hidden(bones.letters, gaps, text[:first], text[last + 1 :], exact)

    @property
    def seed(self) -> str:
        return self.letters[:SEED]


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def places(bones: Skeleton, known: Mapping[str, tuple[Hidden, ...]]) -> list[tuple[int, int]]:
    """Where known secrets stand in a text, in order and apart; `known` by their seeds."""
    spans: list[tuple[int, int]] = []
    cuts = _cuts(bones)
    for seed in _seeds(bones.letters, known):
        for hidden in known[seed]:
            spans += _exactly(bones.text, hidden.exact)
            if seed:
                spans += _found(bones, hidden, cuts)
    return merged(spans)


def _seeds(letters: str, known: Mapping[str, tuple[Hidden, ...]]) -> Iterator[str]:
    """The seeds that a text holds: in time that does not grow with the number of secrets times its length."""
    if len(known) * 16 < len(letters):
        yield from (seed for seed in known if seed in letters)
        return
    for size in range(1, SEED + 1):
        yield from {letters[i : i + size] for i in range(len(letters) - size + 1)} & known.keys()
    if "" in known:
        yield ""


def _exactly(text: str, exact: str) -> Iterator[tuple[int, int]]:
    at = text.find(exact) if exact else -1
    while at >= 0:
        alone = len(exact) >= SEED or not _continues(text, at, at + len(exact))
        if alone:
            yield at, at + len(exact)
        at = text.find(exact, at + (len(exact) if alone else 1))


def _continues(text: str, begin: int, end: int) -> bool:
    """Whether a word goes on before or after a part of a text."""
    return text[max(0, begin - 1) : begin].isalnum() or text[end : end + 1].isalnum()


def _found(bones: Skeleton, hidden: Hidden, cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    letters, size = bones.letters, len(hidden.letters)
    at = letters.find(hidden.seed)
    while at >= 0:
        length = 0
        if letters.startswith(hidden.letters, at):
            length = size
        else:
            cut = _cut_after(cuts, at)
            if _LEAST_CUT <= cut - at < min(size, _MOST_CUT) and hidden.letters.startswith(letters[at:cut]):
                length = cut - at
            elif size <= _MOST_BEGUN:
                length = _begun(bones, hidden, at)
        if length and _fits(bones, hidden, at, length):
            yield _span(bones, hidden, at, length)
            at = letters.find(hidden.seed, at + length)
        else:
            at = letters.find(hidden.seed, at + 1)


def _begun(bones: Skeleton, hidden: Hidden, at: int) -> int:
    """How much of a secret's beginning stands alone: at least half of it, and with a figure, as no other word has."""
    length = 0
    for letter, other in zip(hidden.letters, bones.letters[at : at + len(hidden.letters)], strict=False):
        if letter != other:
            break
        length += 1
    beginning = hidden.letters[:length]
    whole = length >= _LEAST_CUT and 2 * length >= len(hidden.letters) and any(c.isdigit() for c in beginning)
    return length if whole and _is_alone(bones, at, length) else 0


def _is_alone(bones: Skeleton, at: int, length: int) -> bool:
    begin, end = bones.at[at], bones.at[at + length - 1] + 1
    return not _continues(bones.text, begin, end)


def _fits(bones: Skeleton, hidden: Hidden, at: int, length: int) -> bool:
    """Whether a text has gaps only where the secret has some, or blanks that a reader put into a long one."""
    allowed = ("", " ") if len(hidden.letters) >= _FORGIVING_FROM else ("",)
    for index in range(1, length):
        if not hidden.gaps[index] and bones.gaps[at + index] not in allowed:
            return False
    return len(hidden.letters) >= SEED or _is_alone(bones, at, length)


def _span(bones: Skeleton, hidden: Hidden, at: int, length: int) -> tuple[int, int]:
    """Where a secret stands in the text, the signs included with which it begins and ends."""
    text, begin, end = bones.text, bones.at[at], bones.at[at + length - 1] + 1
    while end < len(text) and _folded(text[end]) == "\0":
        end += 1  # marks of the last letter
    leading, trailing = hidden.leading, hidden.trailing if length == len(hidden.letters) else ""
    while leading and begin and text[begin - 1] in (leading[-1], "\\"):
        leading = leading[:-1] if text[begin - 1] == leading[-1] else leading
        begin -= 1
    while trailing and end < len(text) and text[end] in (trailing[0], "\\"):
        trailing = trailing[1:] if text[end] == trailing[0] else trailing
        end += 1
    return begin, end


def _cuts(bones: Skeleton) -> list[int]:
    """How many letters come before each sign of a cut."""
    found = []
    for sign in _CUTS:
        at = bones.text.find(sign)
        while at >= 0:
            found.append(bisect_left(bones.at, at))
            at = bones.text.find(sign, at + len(sign))
    return sorted(found)


def _cut_after(cuts: Sequence[int], at: int) -> int:
    index = bisect_left(cuts, at + 1)
    return cuts[index] if index < len(cuts) else -1
