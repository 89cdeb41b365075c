"""Optimiser family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_ADAMW_STEP = """\
import torch


def kernel(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    step = (m / (1 - 0.9**10)) / (torch.sqrt(v / (1 - 0.999**10)) + 1e-8)
    return p * (1 - 0.1 * 0.1) - 0.1 * step, m, v
"""


def _vector(name: str, fill: str = "normal") -> Tensor:
    return Tensor(name, "float32", ("count",), fill=fill)


TASKS = (
    Task(
        name="adamw_step",
        family="optimiser",
        summary="tenth AdamW step: rate 0.1, decay 0.1, moments 0.9 and 0.999, epsilon 1e-8; new p, m and v",
        sizes=("count",),
        inputs=(_vector("p"), _vector("g"), _vector("m"), _vector("v", "positive")),
        outputs=(_vector("p_out"), _vector("m_out"), _vector("v_out")),
        workloads=(Workload({"count": 16 * 1024 * 1024}), Workload({"count": 3_000_000})),
        extra=(Workload({"count": 4720}), Workload({"count": 1003})),
        tolerance=Tolerance(1e-5, 2e-6, "a dozen float32 roundings of numbers near 1, one division and one root"),
        flops=lambda s: 16.0 * s["count"],
        oracle=None,
        references={"torch": _ADAMW_STEP},
    ),
)
