"""What the language models among the parts of a search were asked and cost, and which of their answers were no use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.lm.paid import Paid

_REFUSALS = ("request:refused", "request:declined")
_REPEATED = "answer:known"


@dataclass(frozen=True)
class LmUsage:
    """Sums over one part's language models since it was made; `role` says which part that is.

    `refused` are requests that the endpoint or the model declined, `failed` those without an answer for another reason
    (timeouts, a spent budget), `unreadable` answers that were not in the form asked for, `repeated` programs that were
    known already. Cached replies cost no tokens.
    """

    role: str
    name: str
    questions: int
    replies: int
    cached: int
    prompt_tokens: int
    answer_tokens: int
    money: float
    refused: int
    failed: int
    unreadable: int
    repeated: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens


def usage_of(role: str, part: object) -> LmUsage | None:
    """The usage of a proposer or forecaster; None if no language model is in it.

    Parts that wrap others name those in `wrapped`; parts that ask a model have `totals` and count `troubles`.
    """
    askers = list(_askers(part))
    if not askers:
        return None
    paid = [asker.totals for asker in askers]
    troubles: dict[str, int] = {}
    for asker in askers:
        for kind, number in asker.troubles.items():
            troubles[kind] = troubles.get(kind, 0) + number
    refused = sum(troubles.get(kind, 0) for kind in _REFUSALS)
    return LmUsage(
        role,
        ", ".join(dict.fromkeys(str(asker.name) for asker in askers)),
        questions=sum(one.asked for one in paid),
        replies=sum(one.replies for one in paid),
        cached=sum(one.cached for one in paid),
        prompt_tokens=sum(one.prompt_tokens for one in paid),
        answer_tokens=sum(one.answer_tokens for one in paid),
        money=sum(one.money for one in paid),
        refused=refused,
        failed=_total(troubles, "request:") - refused,
        unreadable=_total(troubles, "answer:") - troubles.get(_REPEATED, 0),
        repeated=troubles.get(_REPEATED, 0),
    )


def _askers(part: Any) -> Iterator[Any]:
    if isinstance(getattr(part, "totals", None), Paid):
        yield part
    for inner in getattr(part, "wrapped", ()):
        yield from _askers(inner)


def _total(troubles: Mapping[str, int], prefix: str) -> int:
    return sum(number for kind, number in troubles.items() if kind.startswith(prefix))
