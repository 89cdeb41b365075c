"""Gather family on a GPU."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload

_WORKLOADS = (
    Workload({"vocab": 65536, "dim": 1024, "count": 65536}),
    Workload({"vocab": 32768, "dim": 256, "count": 131072}),
)
_EXTRA = (Workload({"vocab": 2090, "dim": 336, "count": 37}), Workload({"vocab": 97, "dim": 48, "count": 5}))
_INDEX = Tensor("index", "int64", ("count",), fill="index:vocab")


def _least_bytes(item_bytes: int, streams: int) -> Callable[[Sizes], float]:
    """At random indices, more than half of min(vocab, count) rows of the table are different ones."""

    def least(s: Sizes) -> float:
        rows = streams * s["count"] + min(s["vocab"], s["count"]) / 2
        return rows * s["dim"] * item_bytes + 8.0 * s["count"]

    return least


TASKS = (
    Task(
        name="embedding",
        family="gather",
        summary="out[i] = table[index[i]], whole rows",
        sizes=("vocab", "dim", "count"),
        inputs=(Tensor("table", "float16", ("vocab", "dim")), _INDEX),
        outputs=(Tensor("out", "float16", ("count", "dim")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(0.0, 0.0, "a copy"),
        flops=lambda s: 0.0,
        oracle=None,
        references={"torch": "import torch\n\n\ndef kernel(table, index):\n    return table[index]\n"},
        least_bytes_override=_least_bytes(item_bytes=2, streams=1),
    ),
    Task(
        name="gather_rows_add",
        family="gather",
        summary="out[i] = x[i] + table[index[i]], whole rows",
        sizes=("vocab", "dim", "count"),
        inputs=(Tensor("x", "float32", ("count", "dim")), Tensor("table", "float32", ("vocab", "dim")), _INDEX),
        outputs=(Tensor("out", "float32", ("count", "dim")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(1e-6, 1e-6, "one float32 addition"),
        flops=lambda s: 1.0 * s["count"] * s["dim"],
        oracle=None,
        references={"torch": "import torch\n\n\ndef kernel(x, table, index):\n    return x + table[index]\n"},
        least_bytes_override=_least_bytes(item_bytes=4, streams=2),
    ),
)
