"""How to correct the probabilities of direct answers: training saw every outcome equally often, use does not."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.lm.adapter import Calibration
from foretell.train.lm.base import Student, merged
from foretell.train.lm.batches import PAD_TO, encode
from foretell.train.lm.world import Example, World

FloatArray = NDArray[np.float64]
BIAS_PENALTY = 0.02  # nats a squared unit of bias: few rows should not move it far
_LEAST = 1e-7


def choice_probs(
    student: Student, world: World, examples: Sequence[Example], longest: int = 4_096, batch_tokens: int = 131_072
) -> tuple[FloatArray, FloatArray]:
    """What the model says of direct questions, (n, choices), and what came, alike; what is too long is left out."""
    torch: Any = importlib.import_module("torch")
    encoded = encode(student, world, examples, longest)
    order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
    found = np.zeros((len(encoded), len(world.choices)))
    pad = student.tokenizer.pad_token_id or 0
    at = 0
    with merged(student), torch.inference_mode():
        while at < len(order):
            width = -(-len(encoded[order[at]].ids) // PAD_TO) * PAD_TO
            rows = order[at : at + max(1, batch_tokens // width)]
            ids = torch.tensor([[*encoded[i].ids, *([pad] * (width - len(encoded[i].ids)))] for i in rows])
            last = torch.tensor([len(encoded[i].ids) - 1 for i in rows], device=student.device)
            hidden = student.hidden(ids.to(student.device))
            logits = student.logits(hidden[torch.arange(len(rows), device=student.device), last])
            found[rows] = torch.softmax(logits[:, student.choice_ids], dim=-1).double().cpu().numpy()
            at += len(rows)
    return found, np.array([e.target for e in encoded]).reshape(len(encoded), len(world.choices))


def fit(stated: FloatArray, came: FloatArray) -> Calibration:
    """Temperature and biases of least log loss on questions as they come in use."""
    optimise: Any = importlib.import_module("scipy.optimize")

    def loss(values: FloatArray) -> float:
        corrected = np.log(np.maximum(_calibration(values).corrected(stated), _LEAST))
        return float(-(came * corrected).sum(axis=1).mean() + BIAS_PENALTY * (values[1:] ** 2).sum() / len(values))

    start = np.zeros(1 + stated.shape[1])
    best = optimise.minimize(loss, start, method="L-BFGS-B", bounds=[(-2.0, 2.0)] + [(-4.0, 4.0)] * stated.shape[1])
    return _calibration(best.x)


def _calibration(values: FloatArray) -> Calibration:
    return Calibration(float(np.exp(values[0])), tuple(float(v) for v in values[1:]))
