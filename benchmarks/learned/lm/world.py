"""The world of `train.lm` over facts: questions about kernels of training problems, and those kept back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.learned.lm import question
from benchmarks.learned.lm.facts import CHECK, TRAIN, Kernel, Outcome, Problem
from foretell.belief import Forecast
from foretell.kernels.forecast import hundredths
from foretell.lm import Message
from foretell.train.lm.pairs import BLUR_LOG2, CHOICES, NUDGE_LOG2, STRUCTURED_SHARE, KernelPairs, choice_probs
from foretell.train.lm.world import Example, Form

DEVICE_SHARE = 0.6  # of the questions are about device times, if there are both
PAIR_SHARE = 0.35  # of the questions have another kernel of the problem as base
HIDDEN_SHARE = 0.3  # of the questions show no texts, so that facts are learnt too


@dataclass(frozen=True)
class Drawing:
    """Shares of written answers, of pairs and of questions without texts; the blur of targets and of times (log2)."""

    structured: float = STRUCTURED_SHARE
    pairs: float = PAIR_SHARE
    hidden: float = HIDDEN_SHARE
    blur_log2: float = BLUR_LOG2
    nudge_log2: float = NUDGE_LOG2


# As questions come in use, in the written form, with the targets that measuring gave.
IN_USE = Drawing(structured=1.0, pairs=0.0, hidden=0.0, blur_log2=0.0, nudge_log2=0.0)


class Facts:
    """Questions with the facts in hand; see the module."""

    mark = hundredths.MARK
    choices = CHOICES
    style = question.STYLE
    answer = staticmethod(KernelPairs.answer)
    read = staticmethod(KernelPairs.read)

    def __init__(self, problems: Sequence[Problem], drawing: Drawing | None = None) -> None:
        self.name = f"facts of {sum(len(problem.kernels) for problem in problems)} kernels"
        self._drawing = drawing or Drawing()
        self._problems = problems
        learnt = [(p, k) for p in problems if p.part == TRAIN for k in p.kernels if k.outcome is not None]
        columns = sorted({problem.column for problem, _ in learnt})
        self._by_column = [[row for row in learnt if row[0].column == column] for column in columns]

    def train(self, count: int, seed: int) -> list[Example]:
        return [self._drawn(rng) for rng in (np.random.default_rng([seed, place]) for place in range(count))]

    def check(self, count: int, seed: int) -> list[Example]:
        kept = [(p, k) for p, k in self.asked(CHECK) if k.outcome is not None]
        order = np.random.default_rng(seed).permutation(len(kept))[:count]
        return [self.example(*kept[i]) for i in order]

    def asked(self, *parts: str) -> Iterator[tuple[Problem, Kernel]]:
        """All kernels of some parts."""
        return ((problem, k) for problem in self._problems if problem.part in parts for k in problem.kernels)

    def example(self, problem: Problem, kernel: Kernel, form: Form = "direct") -> Example:
        """The question as in use; without an outcome the target is nothing."""
        text = question.text_of(problem, kernel, form == "structured")
        target = target_of(kernel.outcome) if kernel.outcome is not None else (0.0,) * len(CHOICES)
        return Example((Message("user", text),), form, target, problem.group)

    def _drawn(self, rng: np.random.Generator) -> Example:
        how = self._drawing
        first = rng.random() < DEVICE_SHARE
        rows = self._by_column[0 if first or len(self._by_column) == 1 else 1]
        problem, kernel = rows[rng.integers(len(rows))]
        form: Form = "structured" if rng.random() < how.structured else "direct"
        base = self._base(problem, kernel, rng) if rng.random() < how.pairs else None
        std = how.nudge_log2
        text = question.text_of(
            problem,
            kernel,
            form == "structured",
            base,
            bool(rng.random() >= how.hidden),
            (lambda us: us * 2.0 ** (std * rng.standard_normal())) if std else None,
        )
        assert kernel.outcome is not None
        target = target_of(kernel.outcome, base.outcome if base else None, how.blur_log2)
        return Example((Message("user", text),), form, target, problem.group)

    @staticmethod
    def _base(problem: Problem, kernel: Kernel, rng: np.random.Generator) -> Kernel | None:
        """Another kernel of the problem that worked, if there is one."""
        others = [k for k in problem.kernels if k is not kernel and k.outcome and k.outcome.log2 is not None]
        return others[rng.integers(len(others))] if others else None


def target_of(outcome: Outcome, base: Outcome | None = None, blur_log2: float = 0.0) -> tuple[float, ...]:
    """The probability of each choice given what was measured, over a base that worked or the reference."""
    if outcome.log2 is None:
        return (1.0, *(0.0 for _ in CHOICES[1:]))
    over, std = (base.log2, base.std_log2) if base is not None else (0.0, 0.0)
    mean = outcome.log2 - (over or 0.0)
    return choice_probs(Forecast.from_normal(mean, math.hypot(outcome.std_log2, std, blur_log2), 0.0))
