"""Stencil family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_STENCIL5 = """\
import torch


def kernel(x):
    out = x.clone()
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    out[1:-1, 1:-1] = 0.6 * x[1:-1, 1:-1] + 0.1 * around
    return out
"""

TASKS = (
    Task(
        name="stencil5",
        family="stencil",
        summary="0.6 centre + 0.1 of each of the four neighbours; points on the border stay as they are",
        sizes=("height", "width"),
        inputs=(Tensor("x", "float32", ("height", "width")),),
        outputs=(Tensor("out", "float32", ("height", "width")),),
        workloads=(Workload({"height": 8192, "width": 4096}), Workload({"height": 32768, "width": 1008})),
        extra=(Workload({"height": 37, "width": 1040}), Workload({"height": 5, "width": 48})),
        tolerance=Tolerance(1e-5, 2e-6, "six float32 operations on numbers near 1"),
        flops=lambda s: 6.0 * s["height"] * s["width"],
        oracle=None,
        references={"torch": _STENCIL5},
    ),
)
