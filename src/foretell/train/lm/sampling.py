"""Several answers to each of many questions at once: every prompt is read once, then all answers are written together.

The answers to a question stand in one row behind it, a token of each at a time, hidden from each other by the mask: the
question's keys and values are kept once and not once an answer, and writing is one forward pass for all answers.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foretell.train.lm.base import Student, merged


@dataclass(frozen=True)
class Sampled:
    """One answer: its tokens (the end token included, where it was reached), their log probabilities, and its text."""

    tokens: tuple[int, ...]
    logs: tuple[float, ...]
    text: str


@dataclass(frozen=True)
class Samples:
    """Answers by prompt; `tokens` were written in `seconds`."""

    answers: list[list[Sampled]]
    tokens: int
    seconds: float


def sample(
    student: Student, prompts: Sequence[Sequence[int]], answers: int, longest: int, temperature: float, seed: int
) -> Samples:
    """`answers` answers to each prompt, each of at most `longest` tokens. Deterministic in the seed on one device."""
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    device = student.device
    generator = torch.Generator(device=device).manual_seed(seed)
    began = time.monotonic()
    tokenizer = student.tokenizer
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=device)
    hidden = torch.finfo(student.dtype).min / 2
    with merged(student), torch.inference_mode():
        cache = transformers.DynamicCache()
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        logits = student.logits(student.hidden(ids, mask, positions, cache)[:, -1]).repeat_interleave(answers, dim=0)
        at = mask.sum(dim=-1, keepdim=True).repeat(1, answers)
        seen = torch.zeros((len(prompts), 1, answers, width), device=device, dtype=student.dtype)
        seen.masked_fill_((mask == 0)[:, None, None, :], hidden)
        own = torch.full((answers, answers), hidden, device=device, dtype=student.dtype).fill_diagonal_(0.0)
        own = own.expand(len(prompts), 1, answers, answers)
        going = torch.ones(logits.shape[0], dtype=torch.bool, device=device)
        written, logs = [], []
        for _ in range(longest):
            said = torch.log_softmax(logits / temperature, dim=-1)
            token = torch.multinomial(said.exp(), 1, generator=generator)
            logs.append(said.gather(1, token).squeeze(1))
            token = torch.where(going.unsqueeze(1), token, pad)
            written.append(token.squeeze(1))
            going &= token.squeeze(1) != tokenizer.eos_token_id
            if len(written) % 8 == 0 and not bool(going.any()):
                break
            if len(written) == longest:
                break
            seen = torch.cat([seen, own], dim=-1)
            logits = student.logits(student.hidden(token.view(len(prompts), answers), seen, at, cache).flatten(0, 1))
            at = at + 1
        tokens = torch.stack(written, dim=1).tolist()
        chances = torch.stack(logs, dim=1).float().tolist()
    found = [_ended(row, own, tokenizer) for row, own in zip(tokens, chances, strict=True)]
    grouped = [found[i : i + answers] for i in range(0, len(found), answers)]
    return Samples(grouped, sum(len(one.tokens) for one in found), time.monotonic() - began)


def _ended(tokens: list[int], logs: list[float], tokenizer: Any) -> Sampled:
    end = tokenizer.eos_token_id
    length = tokens.index(end) + 1 if end in tokens else len(tokens)
    own = tokens[:length]
    text = tokenizer.decode([token for token in own if token != end], skip_special_tokens=True)
    return Sampled(tuple(own), tuple(logs[:length]), text)
