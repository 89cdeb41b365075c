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

from foretell.lm.attention import folded, unplanned
from foretell.train.lm.base import Student, merged
from foretell.train.lm.errors import NotANumber, OutOfMemory

READ_AT_ONCE = 32  # prompts
ASK_EVERY = 4  # steps between two looks at whether all have ended: a look waits for the device


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


def sample(student: Student, prompts: Sequence[Sequence[int]], answers: int, longest: int, seed: int) -> Samples:
    """`answers` answers to each prompt, each of at most `longest` tokens. Deterministic in the seed on one device.

    Where the memory does not suffice, half of the prompts at a time, and so on; OutOfMemory where it does not for one.
    """
    torch: Any = importlib.import_module("torch")
    try:
        return _sample(student, prompts, answers, longest, seed)
    except torch.OutOfMemoryError:
        pass  # handled outside, where the exception no longer keeps the memory alive
    torch.cuda.empty_cache()
    if len(prompts) == 1:
        raise OutOfMemory(f"{answers} answers to a question do not fit the device: lower --answers or --longest")
    half = len(prompts) // 2
    one = sample(student, prompts[:half], answers, longest, 2 * seed + 1)
    two = sample(student, prompts[half:], answers, longest, 2 * seed + 2)
    return Samples([*one.answers, *two.answers], one.tokens + two.tokens, one.seconds + two.seconds)


def _sample(student: Student, prompts: Sequence[Sequence[int]], answers: int, longest: int, seed: int) -> Samples:
    torch: Any = importlib.import_module("torch")
    device, tokenizer = student.device, student.tokenizer
    generator = torch.Generator(device=device).manual_seed(seed)
    began = time.monotonic()
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    hidden = torch.finfo(student.dtype).min / 2
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    with merged(student), unplanned(), torch.inference_mode():
        ends = torch.tensor(student.ends, device=device)
        lengths = torch.tensor([len(prompts[i]) for i in order], device=device)
        last, cache = _read(student, [prompts[i] for i in order], pad)
        first = student.logits(last)
        if not bool(torch.isfinite(first).all()):
            raise NotANumber("the model's answers are no numbers any more: lower --rate, or use a wider --dtype")
        logits = first.repeat_interleave(answers, dim=0)
        at = lengths.unsqueeze(1).repeat(1, answers)
        beyond = torch.arange(int(lengths.max()), device=device) >= lengths.unsqueeze(1)
        seen = torch.zeros((len(order), 1, answers, beyond.shape[1]), device=device, dtype=student.dtype)
        seen.masked_fill_(beyond[:, None, None, :], hidden)
        own = torch.full((answers, answers), hidden, device=device, dtype=student.dtype).fill_diagonal_(0.0)
        own = own.expand(len(order), 1, answers, answers)
        going = torch.ones(logits.shape[0], dtype=torch.bool, device=device)
        written, logs = [], []
        with folded(student.decoder):
            while True:
                said = torch.log_softmax(logits, dim=-1)
                token = torch.multinomial(said.exp(), 1, generator=generator)
                logs.append(said.gather(1, token).squeeze(1))
                token = torch.where(going.unsqueeze(1), token, pad)
                written.append(token.squeeze(1))
                going &= ~torch.isin(token.squeeze(1), ends)
                if len(written) == longest or (len(written) % ASK_EVERY == 0 and not bool(going.any())):
                    break
                seen = torch.cat([seen, own], dim=-1)
                read = student.hidden(token.view(len(order), answers), seen, at, cache)
                logits, at = student.logits(read.flatten(0, 1)), at + 1
        tokens = torch.stack(written, dim=1).tolist()
        chances = torch.stack(logs, dim=1).float().tolist()
    found = [_ended(row, own, student) for row, own in zip(tokens, chances, strict=True)]
    grouped = {place: found[at * answers : (at + 1) * answers] for at, place in enumerate(order)}
    count = sum(len(one.tokens) for one in found)
    return Samples([grouped[place] for place in range(len(prompts))], count, time.monotonic() - began)


def _read(student: Student, prompts: Sequence[Sequence[int]], pad: int) -> tuple[Any, Any]:
    """The hidden state at the end of each prompt, and the keys and values of all.

    Padding is on the right, where no prompt sees it: no mask is needed. Prompts, which are sorted by length, are read a
    few at a time, so that little padding is.
    """
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    last, parts = [], []
    for at in range(0, len(prompts), READ_AT_ONCE):
        few = prompts[at : at + READ_AT_ONCE]
        width = max(map(len, few))
        ids = torch.tensor([[*prompt, *[pad] * (width - len(prompt))] for prompt in few], device=student.device)
        part = transformers.DynamicCache()
        hidden = student.hidden(ids, cache=part)
        ends = torch.tensor([len(prompt) - 1 for prompt in few], device=student.device)
        last.append(hidden[torch.arange(len(few), device=student.device), ends])
        parts.append(part)
    if len(parts) == 1:
        return last[0], parts[0]
    whole, width = transformers.DynamicCache(), max(map(len, prompts))
    for number, layers in enumerate(zip(*(part.layers for part in parts), strict=True)):
        keys = torch.cat([_widened(layer.keys, width) for layer in layers])
        whole.update(keys, torch.cat([_widened(layer.values, width) for layer in layers]), number)
    return torch.cat(last), whole


def _widened(kept: Any, width: int) -> Any:
    torch: Any = importlib.import_module("torch")
    return torch.nn.functional.pad(kept, (0, 0, 0, width - kept.shape[2]))


def _ended(tokens: list[int], logs: list[float], student: Student) -> Sampled:
    ends = set(student.ends)
    length = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
    own = tokens[:length]
    text = student.tokenizer.decode([token for token in own if token not in ends], skip_special_tokens=True)
    return Sampled(tuple(own), tuple(logs[:length]), text)
