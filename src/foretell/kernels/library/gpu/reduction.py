"""Reduction family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 131072, "cols": 512}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))

_L2NORM = """\
import torch


def kernel(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return torch.linalg.vector_norm(wide, dim=1)
"""


def _task(name: str, summary: str, x: Tensor, out: Tensor, tolerance: Tolerance, reference: str) -> Task:
    return Task(
        name=name,
        family="reduction",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(x,),
        outputs=(out,),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: (2.0 if name == "row_l2norm" else 1.0) * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


_UNIFORM = Tensor("x", "float32", ("rows", "cols"), fill="uniform")

TASKS = (
    _task(
        "row_sum",
        "sum of each row",
        _UNIFORM,
        Tensor("out", "float32", ("rows",)),
        Tolerance(2e-5, 1e-5, "float32 sum of up to 4096 positive terms in any order"),
        "import torch\n\n\ndef kernel(x):\n    return torch.sum(x, dim=1)\n",
    ),
    _task(
        "column_sum",
        "sum of each column",
        _UNIFORM,
        Tensor("out", "float32", ("cols",)),
        Tolerance(1e-4, 1e-4, "float32 sum of up to 131072 positive terms in any order, also one after the other"),
        "import torch\n\n\ndef kernel(x):\n    return torch.sum(x, dim=0)\n",
    ),
    _task(
        "row_l2norm",
        "square root of the sum of squares of each row",
        Tensor("x", "float16", ("rows", "cols"), fill="wide"),
        Tensor("out", "float32", ("rows",)),
        Tolerance(2e-5, 1e-5, "float32 sum of up to 4096 squares in any order"),
        _L2NORM,
    ),
    _task(
        "argmax",
        "index of each row's maximum, the first one where several are equal",
        Tensor("x", "float32", ("rows", "cols"), fill="index:3000"),
        Tensor("out", "int64", ("rows",)),
        Tolerance(0.0, 0.0, "an index is right or wrong"),
        "import torch\n\n\ndef kernel(x):\n    return torch.argmax(x, dim=1)\n",
    ),
)
