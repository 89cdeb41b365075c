"""The supervised stage: direct answers and written ones at once, towards the measured distributions."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from foretell.train.lm import losses
from foretell.train.lm.base import Student
from foretell.train.lm.batches import Encoded, arranged, collate, encode
from foretell.train.lm.course import Course, Pace
from foretell.train.lm.errors import OutOfMemory, TrainingTrouble
from foretell.train.lm.world import World

CRPS_WEIGHT = 2.0
WRITTEN_WEIGHT = 0.5
REPORT_STEPS = 10


@dataclass(frozen=True)
class SftSettings:
    examples: int = 16_000
    batch_tokens: int = 32_768
    longest: int = 3_072
    rate: float = 3e-4
    crps_weight: float = CRPS_WEIGHT
    written_weight: float = WRITTEN_WEIGHT
    seed: int = 0


def supervise(
    student: Student,
    world: World,
    into: Path,
    settings: SftSettings,
    seconds: float,
    say: Callable[[str], None],
    save_every_s: float = 120.0,
) -> dict[str, Any]:
    """Train until the examples or the seconds are used up; what was done, with the tokens per second."""
    examples = world.train(settings.examples, settings.seed)
    encoded = encode(student, world, examples, settings.longest)
    if not encoded:
        raise TrainingTrouble(
            f"none of {len(examples)} examples has at most {settings.longest} tokens: raise --longest"
        )
    mean = sum(len(e.ids) for e in encoded) / len(encoded)
    say(f"{len(encoded)} of {len(examples)} examples, {mean:.0f} tokens each")
    batches = arranged(encoded, settings.batch_tokens, np.random.default_rng(settings.seed))
    pace = Pace(len(batches), settings.rate, seconds, save_every_s=save_every_s)
    course = Course(student, into, pace, asdict(settings) | {"stage": "sft", "--data": world.name})
    student.model.train()
    window: list[tuple[float, float, int]] = []
    rates: list[float] = []
    with course.kept(say):
        while not course.over:
            at = time.monotonic()
            loss, used = _step(student, batches[course.step], settings)
            norm = course.learn(loss, tokens=used)
            window.append((loss, time.monotonic() - at, used))
            if len(window) == REPORT_STEPS or course.over:
                mean = sum(loss for loss, _, _ in window) / len(window)
                rates.append(sum(used for _, _, used in window) / max(1e-9, sum(took for _, took, _ in window)))
                course.log(loss=round(mean, 4), norm=round(norm, 3), tokens_per_s=round(rates[-1]))
                say(f"step {course.step} of {len(batches)}: loss {mean:.3f}, {rates[-1]:,.0f} tokens/s")
                window = []
    course.save()
    student.model.eval()
    return {
        "steps": course.step,
        "of": len(batches),
        "tokens": int(course.totals.get("tokens", 0)),
        "seconds": round(course.spent_s + course.elapsed_s, 1),
        "tokens_per_s": round(median(rates)) if rates else 0,  # warming up and saving left out
    }


def _step(student: Student, examples: list[Encoded], settings: SftSettings) -> tuple[float, int]:
    """Gradients of one batch, in as many pieces as the memory asks for; the loss and the tokens."""
    torch: Any = importlib.import_module("torch")
    pieces = 1
    while True:
        try:
            parts = [examples[at::pieces] for at in range(pieces)]
            found = [_gradients(student, part, settings, len(part) / len(examples)) for part in parts]
            return sum(loss for loss, _ in found), sum(tokens for _, tokens in found)
        except torch.OutOfMemoryError:
            pass  # handled outside, where the exception no longer keeps the batch's memory alive
        for _, parameter in student.learning():
            parameter.grad = None
        torch.cuda.empty_cache()
        if pieces >= len(examples):
            longest = max(len(example.ids) for example in examples)
            raise OutOfMemory(
                f"one example of {longest} tokens does not fit the device: lower --longest, or use a smaller base"
            )
        pieces = min(len(examples), 2 * pieces)


def _gradients(student: Student, examples: list[Encoded], settings: SftSettings, weight: float) -> tuple[float, int]:
    torch: Any = importlib.import_module("torch")
    batch = collate(examples, student.tokenizer.pad_token_id or 0, student.device)
    hidden = student.hidden(batch.ids)
    loss = torch.zeros((), device=student.device)
    share = batch.targets.shape[0] / len(examples)
    if share > 0.0:
        answers = student.logits(hidden[batch.direct_at])
        loss = loss + share * losses.direct(answers, student.choice_ids, batch.targets, settings.crps_weight)
    if share < 1.0:
        said = student.logits(hidden[batch.written_at])
        loss = loss + settings.written_weight * (1.0 - share) * losses.written(said, batch.written)
    (weight * loss).backward()
    return weight * float(loss.detach()), batch.tokens
