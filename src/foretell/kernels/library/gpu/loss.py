"""Loss family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))

_CROSS_ENTROPY = """\
import torch


def kernel(logits, targets):
    return torch.nn.functional.cross_entropy(logits, targets, reduction="none")
"""

_MSE_ROWS = """\
import torch


def kernel(a, b):
    wide = torch.promote_types(a.dtype, torch.float32)
    return (a.to(wide) - b.to(wide)).square().mean(dim=1)
"""

TASKS = (
    Task(
        name="cross_entropy",
        family="loss",
        summary="log of the summed exponentials of a row of logits, minus the logit of its target",
        sizes=("rows", "cols"),
        inputs=(
            Tensor("logits", "float32", ("rows", "cols"), fill="wide"),
            Tensor("targets", "int64", ("rows",), fill="index:cols"),
        ),
        outputs=(Tensor("out", "float32", ("rows",)),),
        workloads=(Workload({"rows": 8192, "cols": 8192}), Workload({"rows": 65536, "cols": 1024})),
        extra=_EXTRA,
        tolerance=Tolerance(
            1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"
        ),
        flops=lambda s: 4.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _CROSS_ENTROPY},
    ),
    Task(
        name="mse_rows",
        family="loss",
        summary="mean of the squared differences of each pair of rows",
        sizes=("rows", "cols"),
        inputs=(Tensor("a", "float16", ("rows", "cols")), Tensor("b", "float16", ("rows", "cols"))),
        outputs=(Tensor("out", "float32", ("rows",)),),
        workloads=(Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 131072, "cols": 512})),
        extra=_EXTRA,
        tolerance=Tolerance(5e-5, 1e-5, "float32 sum of up to 4096 squares in any order"),
        flops=lambda s: 3.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _MSE_ROWS},
    ),
)
