"""Argreduction family on a GPU: where in a row or column the wanted item is."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 512}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 333}))
_SHARE = 1 / 1024


def _until_found(sizes: Sizes) -> float:
    """Bytes up to the first item above the threshold, on average, and the places."""
    read = (1 - (1 - _SHARE) ** sizes["cols"]) / _SHARE
    return sizes["rows"] * (4 * read + 8)


def _task(
    name: str,
    summary: str,
    filled: tuple[str, str],
    outputs: tuple[Tensor, ...],
    body: str,
    workloads: tuple[Workload, ...] = _WORKLOADS,
    least_bytes: Callable[[Sizes], float] | None = None,
) -> Task:
    return Task(
        name=name,
        family="argreduction",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", filled[0], ("rows", "cols"), fill=filled[1]),),
        outputs=outputs,
        workloads=workloads,
        extra=_EXTRA,
        tolerance=Tolerance(0.0, 0.0, "an index is right or wrong, and a value is one of the items"),
        flops=lambda s: 1.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": f"import torch\n\n\ndef kernel(x):\n    return {body}\n"},
        least_bytes_override=least_bytes,
    )


_PLACE = Tensor("out", "int64", ("rows",))

TASKS = (
    _task(
        "argmin",
        "index of each row's minimum, the first one where several are equal",
        ("float32", "index:3000"),
        (_PLACE,),
        "torch.argmin(x, dim=1)",
    ),
    _task(
        "max_with_index",
        "maximum of each row and its index, the first one where several are equal",
        ("bfloat16", "normal"),
        (Tensor("out", "bfloat16", ("rows",)), Tensor("place", "int64", ("rows",))),
        "tuple(torch.max(x, dim=1))",
        workloads=(Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 131072, "cols": 512})),
    ),
    _task(
        "argmax_columns",
        "index of each column's maximum, the first one where several are equal",
        ("float32", "index:3000"),
        (Tensor("out", "int64", ("cols",)),),
        "torch.argmax(x, dim=0)",
    ),
    _task(
        "first_above",
        "index of each row's first item above 1 - 1/1024, or 0 where there is none",
        ("float32", "uniform"),
        (_PLACE,),
        "(x > 0.9990234375).to(torch.uint8).argmax(dim=1)",
        least_bytes=_until_found,
    ),
)
