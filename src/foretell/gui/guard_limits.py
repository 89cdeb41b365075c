"""What a guard's own parts may take, and what is kept of their failures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one judgement and one update of the history may take, and the tokens that an episode may cost in all.

    Tokens are counted by critics and historians that have `totals.tokens`, as those do that ask a language model. Once
    they are spent proposals pass unjudged, and the history is kept without a model.
    """

    judgement_s: float = 10.0
    history_s: float = 10.0
    tokens: int | None = None


@dataclass(frozen=True)
class Fault:
    """A failure of the guard's own parts, which never reaches the agent. `where` is critic, historian,
    trace or confirm."""

    where: str
    message: str
    step: int
