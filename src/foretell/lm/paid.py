"""What answers have cost so far, for whoever asks a model."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.lm.model import Failure, Reply


@dataclass
class Paid:
    """Running sums. Cached replies count as replies and cost nothing; their `seconds` are those they once took."""

    asked: int = 0
    replies: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens

    def add(self, outcome: Reply | Failure) -> None:
        """Count one outcome; `asked` is left to the asker, who knows which questions count."""
        self.seconds += outcome.seconds
        if isinstance(outcome, Reply):
            self.replies += 1
            if outcome.cached:
                self.cached += 1
                return
        self.prompt_tokens += outcome.usage.prompt_tokens
        self.answer_tokens += outcome.usage.answer_tokens
        self.money += outcome.money
