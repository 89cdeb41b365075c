"""What the language models of a search were asked, cost and got wrong: lines for people, or part of a document."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from foretell.lm.usage import LmUsage
from foretell.report.numbers import count


@dataclass(frozen=True)
class LmReport:
    """The usage of each part that asks a language model, counted in this process; `resumed` if others came before."""

    usages: tuple[LmUsage, ...] = ()
    resumed: bool = False

    def lines(self) -> list[str]:
        """One line per part."""
        since = " since it was resumed" if self.resumed else ""
        return [_line(one, since) for one in self.usages]

    def to_dict(self) -> dict[str, Any]:
        rows = [asdict(one) | {"tokens": one.tokens} for one in self.usages]
        return {"since_resumed": self.resumed, "parts": rows}


def _line(one: LmUsage, since: str) -> str:
    tokens = f"{one.tokens:,} tokens ({one.prompt_tokens:,} read, {one.answer_tokens:,} written)"
    cached = f", {one.cached} answered from the cache" if one.cached else ""
    money = f", {one.money:.2f} in money" if one.money else ""
    useless = [f"{one.refused} refused", f"{one.unreadable} unreadable"]
    useless += [f"{one.failed} without an answer"] if one.failed else []
    useless += [f"{one.repeated} repeated"] if one.repeated else []
    questions = count(one.questions, "question")
    return f"language model as {one.role}{since}: {questions}, {tokens}{cached}{money}; {', '.join(useless)}"
