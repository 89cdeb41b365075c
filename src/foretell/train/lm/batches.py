"""Examples as tokens, in batches of about one length. Padding is on the right: with causal attention what comes after a
token cannot touch it, so no mask is needed and the fastest attention can be used."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foretell.train.lm.base import Student
from foretell.train.lm.world import Example, World

PAD_TO = 64  # lengths are rounded up to this: few shapes, and the device likes them


@dataclass(frozen=True)
class Encoded:
    """An example as tokens. `answer` is how many of them, at the end, are a written answer; 0 for a direct one."""

    ids: tuple[int, ...]
    answer: int
    target: tuple[float, ...]


@dataclass(frozen=True)
class Batch:
    """Tokens (rows, width); where direct answers are read with their targets; where written ones are, with tokens."""

    ids: Any
    direct_at: tuple[Any, Any]
    targets: Any
    written_at: tuple[Any, Any]
    written: Any
    tokens: int


def encode(student: Student, world: World, examples: Sequence[Example], most: int) -> list[Encoded]:
    """All that fit `most` tokens."""
    prompts = student.asked(examples)
    end = student.tokenizer.eos_token_id
    found = []
    for example, prompt in zip(examples, prompts, strict=True):
        told = [] if example.form == "direct" else [*student.encode(world.answer(example.target)), end]
        if len(prompt) + len(told) <= most:
            found.append(Encoded((*prompt, *told), len(told), example.target))
    return found


def arranged(encoded: Sequence[Encoded], batch_tokens: int, rng: Any, window: int = 2048) -> list[list[Encoded]]:
    """Batches within `batch_tokens` once padded: neighbours in length among `window` examples, batches shuffled."""
    found: list[list[Encoded]] = []
    for at in range(0, len(encoded), window):
        batches: list[list[Encoded]] = []
        for one in sorted(encoded[at : at + window], key=lambda e: -len(e.ids)):
            room = padded(len(batches[-1][0].ids)) if batches else 0
            if batches and (len(batches[-1]) + 1) * room <= batch_tokens:
                batches[-1].append(one)
            else:
                batches.append([one])
        found += [batches[i] for i in rng.permutation(len(batches))]
    return found


def collate(examples: Sequence[Encoded], pad: int, device: Any) -> Batch:
    torch: Any = importlib.import_module("torch")
    width = padded(max(len(e.ids) for e in examples))
    ids = [[*e.ids, *([pad] * (width - len(e.ids)))] for e in examples]
    direct = [(row, len(e.ids) - 1) for row, e in enumerate(examples) if e.answer == 0]
    written = [
        (row, at) for row, e in enumerate(examples) if e.answer for at in range(len(e.ids) - e.answer, len(e.ids))
    ]

    def placed(pairs: Sequence[tuple[int, int]], back: int) -> tuple[Any, Any]:
        rows, columns = [row for row, _ in pairs], [at - back for _, at in pairs]
        return torch.tensor(rows, device=device, dtype=torch.long), torch.tensor(
            columns, device=device, dtype=torch.long
        )

    return Batch(
        ids=torch.tensor(ids, device=device),
        direct_at=placed(direct, 0),
        targets=torch.tensor([examples[row].target for row, _ in direct], device=device, dtype=torch.float32),
        written_at=placed(written, 1),
        written=torch.tensor([examples[row].ids[at] for row, at in written], device=device, dtype=torch.long),
        tokens=sum(len(e.ids) for e in examples),
    )


def padded(tokens: int) -> int:
    """The width that a text of so many tokens is given."""
    return -(-tokens // PAD_TO) * PAD_TO
