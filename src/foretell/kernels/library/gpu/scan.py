"""Scan family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

TASKS = (
    Task(
        name="prefix_sum",
        family="scan",
        summary="inclusive running total along each row",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="uniform"),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 512})),
        extra=(Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336})),
        tolerance=Tolerance(5e-5, 1e-5, "float32 sums of up to 4096 positive terms in any order"),
        flops=lambda s: 1.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": "import torch\n\n\ndef kernel(x):\n    return torch.cumsum(x, dim=1)\n"},
    ),
)
