"""What can go wrong in training, each with a sentence that says what to do."""

from __future__ import annotations


class TrainingTrouble(RuntimeError):
    """Training cannot go on. What was saved before is kept."""


class NoChoiceTokens(TrainingTrouble):
    """The tokenizer has no single token for an answer."""


class NotANumber(TrainingTrouble):
    """The loss is no number any more."""


class OutOfMemory(TrainingTrouble):
    """Not even one example fits the device."""
