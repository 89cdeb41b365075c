"""Scan family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 8192, "cols": 2048}), Workload({"rows": 65536, "cols": 256}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))
_HEAD = "import torch\n\n\n"

_SEGMENTED = """\
import torch


def kernel(x, marks):
    total = torch.cumsum(x, dim=1)
    place = torch.arange(x.shape[1], device=x.device)
    start = torch.cummax(torch.where(marks == 0, place, 0), dim=1).values
    return total - (total - x).gather(1, start)
"""


def _task(name: str, summary: str, x: Tensor, tolerance: Tolerance, body: str, more: tuple[Tensor, ...] = ()) -> Task:
    return Task(
        name=name,
        family="scan",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(x, *more),
        outputs=(Tensor("out", x.dtype, ("rows", "cols")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: 1.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": body if body.startswith("import") else f"{_HEAD}def kernel(x):\n    return {body}\n"},
    )


def _matrix(dtype: str, fill: str) -> Tensor:
    return Tensor("x", dtype, ("rows", "cols"), fill=fill)


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
    _task(
        "exclusive_cumsum",
        "running total along each row of the items before each item",
        _matrix("float32", "uniform"),
        Tolerance(5e-5, 1e-3, "float32 sums of up to 2048 positive terms in any order, perhaps less the last term"),
        "torch.cumsum(x, dim=1) - x",
    ),
    _task(
        "reverse_cumsum",
        "running total of each row from its end: out[i][j] = x[i][j] + x[i][j + 1] + ...",
        _matrix("float32", "uniform"),
        Tolerance(5e-5, 3e-3, "float32 sums of up to 2048 positive terms in any order, perhaps as a difference of two"),
        "torch.flip(torch.cumsum(torch.flip(x, (1,)), dim=1), (1,))",
    ),
    _task(
        "row_cumprod",
        "running product along each row",
        _matrix("float32", "positive"),
        Tolerance(1e-3, 1e-30, "float32 products of up to 2048 factors in any order, perhaps as a sum of logarithms"),
        "torch.cumprod(x, dim=1)",
    ),
    _task(
        "row_cummax",
        "running maximum along each row",
        _matrix("bfloat16", "normal"),
        Tolerance(0.0, 0.0, "a maximum is one of the items"),
        "torch.cummax(x, dim=1).values",
    ),
    _task(
        "segmented_cumsum",
        "running total along each row that starts anew where a mark is 0",
        _matrix("float32", "uniform"),
        Tolerance(1e-4, 3e-3, "float32 sums in any order, perhaps as a difference of two totals near 1000"),
        _SEGMENTED,
        (Tensor("marks", "uint8", ("rows", "cols"), fill="index:48"),),
    ),
)
