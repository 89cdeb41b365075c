"""How to correct the probabilities of direct answers: training saw every outcome equally often, use does not."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.lm.adapter import Calibration
from foretell.train.lm.base import Student, merged
from foretell.train.lm.batches import Encoded, encode, padded
from foretell.train.lm.errors import OutOfMemory
from foretell.train.lm.world import Example, World

FloatArray = NDArray[np.float64]
BIAS_PENALTY = 0.02  # nats a squared unit of bias: few rows should not move it far
_LEAST = 1e-7


def choice_probs(
    student: Student,
    world: World,
    examples: Sequence[Example],
    longest: int = 4_096,
    batch_tokens: int = 131_072,
    most_s: float = math.inf,
) -> tuple[FloatArray, FloatArray]:
    """What the model says of direct questions, (n, choices), and what came, alike; what is too long is left out.

    Batches come in random order and as many as `most_s` seconds allow: on a slow machine fewer questions have to do.
    OutOfMemory where the device cannot hold even one.
    """
    torch: Any = importlib.import_module("torch")
    encoded = encode(student, world, examples, longest)
    began, found = time.monotonic(), dict[int, FloatArray]()
    with merged(student), torch.inference_mode():
        waiting = _batches(encoded, batch_tokens)
        while waiting and (not found or time.monotonic() - began < most_s):
            rows = waiting.pop()
            try:
                probs = _probs(student, [encoded[i].ids for i in rows])
            except torch.OutOfMemoryError:
                probs = None  # handled outside, where the exception no longer keeps the memory alive
            if probs is not None:
                found |= dict(zip(rows, probs, strict=True))
            elif len(rows) > 1:
                torch.cuda.empty_cache()
                waiting += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
            else:
                raise OutOfMemory(f"a question of {len(encoded[rows[0]].ids)} tokens does not fit the device")
    count = len(world.choices)
    stated = [found[i] for i in sorted(found)]
    came = [encoded[i].target for i in sorted(found)]
    return np.array(stated).reshape(-1, count), np.array(came, dtype=float).reshape(-1, count)


def _batches(encoded: Sequence[Encoded], batch_tokens: int) -> list[list[int]]:
    """Places of questions of about one length, in random order."""
    order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
    found, at = [], 0
    while at < len(order):
        rows = order[at : at + max(1, batch_tokens // padded(len(encoded[order[at]].ids)))]
        found.append(rows)
        at += len(rows)
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def _probs(student: Student, asked: Sequence[Sequence[int]]) -> FloatArray:
    torch: Any = importlib.import_module("torch")
    width, pad = padded(max(map(len, asked))), student.tokenizer.pad_token_id or 0
    ids = torch.tensor([[*one, *([pad] * (width - len(one)))] for one in asked], device=student.device)
    last = torch.tensor([len(one) - 1 for one in asked], device=student.device)
    logits = student.logits(student.hidden(ids)[torch.arange(len(asked), device=student.device), last])
    return np.asarray(torch.softmax(logits[:, student.choice_ids], dim=-1).double().cpu().numpy())


def fit(stated: FloatArray, came: FloatArray) -> Calibration:
    """Temperature and biases of least log loss on questions as they come in use."""
    if not len(stated):
        return Calibration()
    optimise: Any = importlib.import_module("scipy.optimize")

    def loss(values: FloatArray) -> float:
        corrected = np.log(np.maximum(_calibration(values).corrected(stated), _LEAST))
        return float(-(came * corrected).sum(axis=1).mean() + BIAS_PENALTY * (values[1:] ** 2).sum() / len(values))

    start = np.zeros(1 + stated.shape[1])
    best = optimise.minimize(loss, start, method="L-BFGS-B", bounds=[(-2.0, 2.0)] + [(-4.0, 4.0)] * stated.shape[1])
    return _calibration(best.x)


def _calibration(values: FloatArray) -> Calibration:
    return Calibration(float(np.exp(values[0])), tuple(float(v) for v in values[1:]))
