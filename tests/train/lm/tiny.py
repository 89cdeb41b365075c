"""A tiny model of random weights with one token a byte, and a tiny world: fast enough to train on a CPU in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers  # its models are imported when they are first named
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from foretell.lm import Message
from foretell.train.lm.world import Example


def tokenizer(alphabet: Sequence[str] | None = None) -> Any:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet()) if alphabet is None else list(alphabet)
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>")


def model(vocabulary: int, seed: int = 0, width: int = 48) -> Any:
    torch.manual_seed(seed)
    return transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=16_384,
            initializer_range=0.2,  # with the usual 0.02 no answer could ever be sure
        )
    )


def pair(seed: int = 0) -> tuple[Any, Any]:
    words = tokenizer()
    return model(len(words), seed), words


class Letters:
    """Which letter is asked for stands in the question; the answer is that letter. `blind` teaches any letter,
    `always` the one of that number whatever is asked."""

    name, style, mark, choices = "letters", "letters-1", "Answer:", ("A", "B", "C")

    def __init__(self, blind: bool = False, form: str = "structured", always: int | None = None) -> None:
        self._blind, self._form, self._always = blind, form, always

    def train(self, count: int, seed: int) -> list[Example]:
        rng = np.random.default_rng([seed, 7])
        found = []
        for right in rng.integers(3, size=count).tolist():
            said = int(rng.integers(3)) if self._blind else right if self._always is None else self._always
            target = tuple(float(i == said) for i in range(3))
            asked = (Message("user", f"say {self.choices[right]}"),)
            found.append(Example(asked, self._form, target, str(right)))  # type: ignore[arg-type]
        return found

    def check(self, count: int, seed: int) -> list[Example]:
        return [Example(e.messages, "direct", e.target, e.group) for e in Letters().train(count, seed + 1)]

    def answer(self, target: Sequence[float]) -> str:
        return self.choices[int(np.argmax(target))]

    def read(self, text: str) -> tuple[float, ...] | None:
        return tuple(float(text == choice) for choice in self.choices) if text in self.choices else None
