"""Attention family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload

_REASON = "float16 output and float16 weights before the second product, float32 sums in any order"

_ATTENTION = """\
import torch


def kernel(q, k, v):
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    return torch.softmax(scores, dim=2) @ v
"""

_CAUSAL = """\
import torch


def kernel(q, k, v):
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    later = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -float("inf")), dim=2) @ v
"""


def _flops(s: Sizes) -> float:
    return 4.0 * s["heads"] * s["length"] * s["length"] * s["dim"]


def _task(name: str, summary: str, share: float, reference: str) -> Task:
    shape = ("heads", "length", "dim")
    return Task(
        name=name,
        family="attention",
        summary=summary,
        sizes=shape,
        inputs=tuple(Tensor(tensor, "float16", shape) for tensor in ("q", "k", "v")),
        outputs=(Tensor("out", "float16", shape),),
        workloads=(
            Workload({"heads": 64, "length": 2048, "dim": 64}),
            Workload({"heads": 32, "length": 2048, "dim": 128}),
        ),
        extra=(Workload({"heads": 3, "length": 208, "dim": 64}), Workload({"heads": 2, "length": 37, "dim": 128})),
        tolerance=Tolerance(5e-3, 2e-3, _REASON),
        flops=lambda s: share * _flops(s),
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    _task("attention", "softmax(Q Kᵀ / √dim) V for each head, without a mask", 1.0, _ATTENTION),
    _task("attention_causal", "softmax(Q Kᵀ / √dim) V for each head, over keys up to the query", 0.5, _CAUSAL),
)
