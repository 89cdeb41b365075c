"""Sorting family on a GPU: values alone, so that ties leave no doubt."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

TOP = 8
BINS = 64
_EXACT = Tolerance(0.0, 0.0, "the values are copies of items; a count is right or wrong")
_EXTRA = ((37, 1040), (5, 336))
_HEAD = "import torch\n\n\n"

_BINCOUNT = f"""\
import torch


def kernel(x):
    counts = torch.zeros((x.shape[0], {BINS}), dtype=torch.int32, device=x.device)
    return counts.scatter_add_(1, x.long(), torch.ones_like(x))
"""


def _task(
    name: str,
    summary: str,
    x: tuple[str, str],
    out: tuple[str, tuple[str | int, ...]],
    shapes: tuple[tuple[int, int], tuple[int, int]],
    body: str,
    extra: tuple[tuple[int, int], ...] = _EXTRA,
) -> Task:
    return Task(
        name=name,
        family="sorting",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", x[0], ("rows", "cols"), fill=x[1]),),
        outputs=(Tensor("out", *out),),
        workloads=tuple(Workload({"rows": rows, "cols": cols}) for rows, cols in shapes),
        extra=tuple(Workload({"rows": rows, "cols": cols}) for rows, cols in extra),
        tolerance=_EXACT,
        flops=lambda s: 1.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": body if body.startswith("import") else f"{_HEAD}def kernel(x):\n    return {body}\n"},
    )


TASKS = (
    _task(
        "row_topk",
        f"the {TOP} largest items of each row, largest first",
        ("float32", "normal"),
        ("float32", ("rows", TOP)),
        ((4096, 4096), (32768, 512)),
        f"torch.topk(x, {TOP}, dim=1).values",
    ),
    _task(
        "row_sort",
        "each row in ascending order",
        ("float32", "normal"),
        ("float32", ("rows", "cols")),
        ((8192, 1024), (65536, 128)),
        "torch.sort(x, dim=1).values",
        ((37, 1000), (5, 336)),
    ),
    _task(
        "row_median",
        "lower median of each row: the item at place (cols - 1) // 2 in ascending order",
        ("float16", "normal"),
        ("float16", ("rows",)),
        ((8192, 2048), (65536, 256)),
        "torch.median(x, dim=1).values",
    ),
    _task(
        "bincount_rows",
        f"out[i][b] = number of items of row i equal to b, for items from 0 to {BINS - 1}",
        ("int32", f"index:{BINS}"),
        ("int32", ("rows", BINS)),
        ((4096, 4096), (65536, 256)),
        _BINCOUNT,
    ),
)
