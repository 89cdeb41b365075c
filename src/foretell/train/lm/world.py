"""What a language model is trained on, whatever the world: questions, their right answers, and how to read one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from foretell.lm import Message

Form = Literal["direct", "structured"]  # a letter whose probability is read off, or a written distribution
FORMS: tuple[Form, ...] = ("direct", "structured")


@dataclass(frozen=True)
class Example:
    """One question. `target` is the probability of each of the world's choices, as far as measuring can tell; `group`
    is what splits and bootstraps keep whole."""

    messages: tuple[Message, ...]
    form: Form
    target: tuple[float, ...]
    group: str


class World(Protocol):
    """Where questions come from; where from other data, the `name` is another. `choices` are the one-token answers,
    worst first, so that their order means something; `style` names the way of asking and goes into an adapter's card;
    a written answer begins with `mark`, and what stands before it is reasoning."""

    name: str
    style: str
    mark: str
    choices: tuple[str, ...]

    def train(self, count: int, seed: int) -> list[Example]:
        """Questions to learn from, balanced over groups and answers, in random order."""
        ...

    def check(self, count: int, seed: int) -> list[Example]:
        """Questions as they come in use, in the form `direct`, of groups that `train` never shows: to calibrate by."""
        ...

    def answer(self, target: Sequence[float]) -> str:
        """The structured answer that states a distribution over the choices."""
        ...

    def read(self, text: str) -> tuple[float, ...] | None:
        """The distribution over the choices that a structured answer states; None where it cannot be read."""
        ...
