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


_GATHER_COLUMNS = """\
import torch


def kernel(x, index):
    return torch.index_select(x, 1, index)
"""

_INDEX_SELECT_SCALED = """\
import torch


def kernel(table, index, scale):
    return torch.index_select(table, 0, index) * scale[:, None]
"""

_EMBEDDING_BAG = """\
import torch


def kernel(table, index):
    return table[index].mean(dim=1)
"""

_SCATTER_ADD_ROWS = """\
import torch


def kernel(base, x, index):
    return base.index_add(0, index, x)
"""

_ONE_HOT_SCALED = """\
import torch


def kernel(index, weights):
    place = torch.arange(weights.shape[0], device=index.device)
    return torch.where(index[:, None] == place, weights, 0)
"""

BAG = 8


def _bag_bytes(s: Sizes) -> float:
    rows = s["count"] + min(s["vocab"], BAG * s["count"]) / 2
    return 2.0 * rows * s["dim"] + 8.0 * BAG * s["count"]


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
    Task(
        name="index_select_scaled",
        family="gather",
        summary="out[i] = table[index[i]] * scale[i], whole rows",
        sizes=("vocab", "dim", "count"),
        inputs=(
            Tensor("table", "bfloat16", ("vocab", "dim")),
            _INDEX,
            Tensor("scale", "bfloat16", ("count",), fill="positive"),
        ),
        outputs=(Tensor("out", "bfloat16", ("count", "dim")),),
        workloads=(
            Workload({"vocab": 32768, "dim": 1024, "count": 32768}),
            Workload({"vocab": 65536, "dim": 256, "count": 131072}),
        ),
        extra=_EXTRA,
        tolerance=Tolerance(1e-2, 1e-6, "one bfloat16 product"),
        flops=lambda s: 1.0 * s["count"] * s["dim"],
        oracle=None,
        references={"torch": _INDEX_SELECT_SCALED},
        least_bytes_override=_least_bytes(item_bytes=2, streams=1),
    ),
    Task(
        name="gather_columns",
        family="gather",
        summary="out[i][j] = x[i][index[j]], whole columns",
        sizes=("rows", "cols", "count"),
        inputs=(Tensor("x", "float32", ("rows", "cols")), Tensor("index", "int64", ("count",), fill="index:cols")),
        outputs=(Tensor("out", "float32", ("rows", "count")),),
        workloads=(
            Workload({"rows": 4096, "cols": 4096, "count": 2048}),
            Workload({"rows": 32768, "cols": 512, "count": 496}),
        ),
        extra=(Workload({"rows": 37, "cols": 1040, "count": 336}), Workload({"rows": 5, "cols": 97, "count": 48})),
        tolerance=Tolerance(0.0, 0.0, "a copy"),
        flops=lambda s: 0.0,
        oracle=None,
        references={"torch": _GATHER_COLUMNS},
        least_bytes_override=lambda s: 4.0 * s["rows"] * (s["count"] + min(s["cols"], s["count"]) / 2),
    ),
    Task(
        name="embedding_bag",
        family="gather",
        summary="out[i] = mean of the 8 rows table[index[i][0]] to table[index[i][7]]",
        sizes=("vocab", "dim", "count"),
        inputs=(
            Tensor("table", "float16", ("vocab", "dim")),
            Tensor("index", "int64", ("count", BAG), fill="index:vocab"),
        ),
        outputs=(Tensor("out", "float16", ("count", "dim")),),
        workloads=(
            Workload({"vocab": 65536, "dim": 512, "count": 8192}),
            Workload({"vocab": 16384, "dim": 128, "count": 32768}),
        ),
        extra=_EXTRA,
        tolerance=Tolerance(1e-3, 3e-4, "float32 sums of 8 terms in any order, then one float16 rounding"),
        flops=lambda s: 1.0 * BAG * s["count"] * s["dim"],
        oracle=None,
        references={"torch": _EMBEDDING_BAG},
        least_bytes_override=_bag_bytes,
    ),
    Task(
        name="scatter_add_rows",
        family="gather",
        summary="out = base, and x[i] added to row index[i] of it for every i",
        sizes=("vocab", "dim", "count"),
        inputs=(Tensor("base", "float32", ("vocab", "dim")), Tensor("x", "float32", ("count", "dim")), _INDEX),
        outputs=(Tensor("out", "float32", ("vocab", "dim")),),
        workloads=(
            Workload({"vocab": 4096, "dim": 1024, "count": 16384}),
            Workload({"vocab": 65536, "dim": 128, "count": 65536}),
        ),
        extra=(Workload({"vocab": 37, "dim": 336, "count": 130}), Workload({"vocab": 97, "dim": 48, "count": 200})),
        tolerance=Tolerance(1e-5, 1e-5, "float32 sums of a few terms in any order"),
        flops=lambda s: 1.0 * s["count"] * s["dim"],
        oracle=None,
        references={"torch": _SCATTER_ADD_ROWS},
    ),
    Task(
        name="one_hot_scaled",
        family="gather",
        summary="out[i][c] = weights[c] where index[i] is c, and 0 elsewhere",
        sizes=("count", "classes"),
        inputs=(
            Tensor("index", "int64", ("count",), fill="index:classes"),
            Tensor("weights", "float16", ("classes",), fill="positive"),
        ),
        outputs=(Tensor("out", "float16", ("count", "classes")),),
        workloads=(Workload({"count": 8192, "classes": 4096}), Workload({"count": 131072, "classes": 208})),
        extra=(Workload({"count": 37, "classes": 1040}), Workload({"count": 5, "classes": 336})),
        tolerance=Tolerance(0.0, 0.0, "a copy"),
        flops=lambda s: 0.0,
        oracle=None,
        references={"torch": _ONE_HOT_SCALED},
    ),
)
