"""What a critic says of a proposal: how likely it is wrong, in what way, and what is seen that says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from numbers import Real
from typing import Protocol

import numpy as np

from foretell.gui.history import History
from foretell.gui.observation import Observation, Pixels, Proposal


class ErrorClass(StrEnum):
    """The twelve ways to go wrong that HiViG (arXiv 2606.11078) tells apart, in words of our own."""

    GROUNDING = "grounding"  # the right target, missed: the point lies beside it
    PREREQUISITE = "prerequisite"  # a step that has to come first was left out: no focus, an overlay in the way
    SEMANTIC = "semantic"  # hits an element, but one that means something else
    TERMINATION = "termination"  # stops too early, does not answer first, or goes on after the goal is met
    CONSTRAINT = "constraint"  # breaks a condition that the goal states: the wrong one of several alike
    FORMULATION = "formulation"  # cannot be read, or lacks what its kind needs
    OBSERVATION = "observation"  # looks for what can be seen already
    SUBOPTIMAL = "suboptimal"  # small steps where one would do
    VECTOR = "vector"  # scrolls or drags the wrong way, or far too little
    HALLUCINATION = "hallucination"  # acts on something that is not there
    TIMING = "timing"  # acts while the screen is still busy
    MISALIGNMENT = "misalignment"  # does something else than it says


class Pictures(Mapping[str, Pixels]):
    """Named pictures that are drawn when one is first looked at: most judgements are never shown to anyone."""

    def __init__(self, draw: Callable[[], Mapping[str, Pixels]]) -> None:
        self._draw = draw

    @cached_property
    def _drawn(self) -> Mapping[str, Pixels]:
        return self._draw()

    def __getitem__(self, name: str) -> Pixels:
        return self._drawn[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._drawn)

    def __len__(self) -> int:
        return len(self._drawn)


@dataclass(frozen=True, eq=False)
class Judgement:
    """`p_bad` is the chance that the proposal is wrong; `error` the likeliest way, where it may be wrong at all.

    `explanation` describes what is seen and what would happen, and prescribes nothing. `evidence` are named numbers
    that it rests on, `images` named pictures (the marked screenshot, the crop around the point). `action` is the number
    of the action that it is about, where several are proposed: that of the worst. `model` names which of a critic's
    models spoke, where each has a threshold of its own. `advice` says that a doubt rests on a learned score alone, and
    on nothing that a person could check: it interrupts nothing.
    """

    p_bad: float
    error: ErrorClass | None
    explanation: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    images: Mapping[str, Pixels] = field(default_factory=dict)
    action: int = 0
    model: str = ""
    advice: bool = False


def sound(found: Judgement) -> Judgement:
    """What a critic said, without what cannot be meant: errors of no class, evidence that is no number, no pictures.

    ValueError where P(bad) is no chance.
    """
    if not 0.0 <= found.p_bad <= 1.0:
        raise ValueError(f"P(bad) must lie in 0 to 1, got {found.p_bad!r}")
    return Judgement(
        float(found.p_bad),
        ErrorClass(found.error) if found.error in set(ErrorClass) else None,
        str(found.explanation or ""),
        {str(name): float(v) for name, v in (found.evidence or {}).items() if _is_number(v)},
        found.images if isinstance(found.images, Pictures) else _arrays(found.images or {}),
        int(found.action),
        str(found.model),
        bool(found.advice),
    )


def _arrays(images: Mapping[str, Pixels]) -> dict[str, Pixels]:
    return {str(name): one for name, one in images.items() if isinstance(one, np.ndarray)}


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


class Critic(Protocol):
    """Judges proposals before they are executed. Raises nothing but its own typed errors; `name` goes into traces."""

    name: str

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement: ...
