"""Softmax family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 512}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}),)


def _row_task(name: str, summary: str, tolerance: Tolerance, reference: str) -> Task:
    return Task(
        name=name,
        family="softmax",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="wide"),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: 5.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    _row_task(
        "softmax",
        "exp(x - max) / sum of each row",
        Tolerance(2e-4, 1e-6, "float32 exp and a sum of up to 4096 terms in any order, outputs between 0 and 1"),
        "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x, dim=1)\n",
    ),
    _row_task(
        "log_softmax",
        "x - max - log(sum exp(x - max)) of each row",
        Tolerance(1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"),
        "import torch\n\n\ndef kernel(x):\n    return torch.log_softmax(x, dim=1)\n",
    ),
)
