"""Gather family: rows of a table picked by index."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_EMBEDDING_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* table, const int64_t* index, float* out, int64_t vocab, int64_t dim,
                       int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < dim; ++j) out[i * dim + j] = table[index[i] * dim + j];
}
"""


def _embedding(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (arrays["table"][arrays["index"]],)


def _least_bytes(sizes: Sizes) -> float:
    """Index once, output once, and each row that is asked for once: indices repeat, so fewer rows than `count`."""
    vocab, dim, count = sizes["vocab"], sizes["dim"], sizes["count"]
    distinct_rows = vocab * -math.expm1(-count / vocab)
    return 8.0 * count + 4.0 * dim * (count + distinct_rows)


TASKS = (
    Task(
        name="embedding",
        family="gather",
        summary="out[i] = table[index[i]], whole rows",
        sizes=("vocab", "dim", "count"),
        inputs=(
            Tensor("table", "float32", ("vocab", "dim")),
            Tensor("index", "int64", ("count",), fill="index:vocab"),
        ),
        outputs=(Tensor("out", "float32", ("count", "dim")),),
        workloads=(
            Workload({"vocab": 32000, "dim": 128, "count": 32768}),
            Workload({"vocab": 2048, "dim": 1024, "count": 4096}),
            Workload({"vocab": 200000, "dim": 16, "count": 196608}),
        ),
        extra=(
            Workload({"vocab": 1, "dim": 1, "count": 3}),
            Workload({"vocab": 97, "dim": 13, "count": 41}),
            Workload({"vocab": 70001, "dim": 3, "count": 257}),
        ),
        tolerance=Tolerance(0.0, 0.0, "a copy is exact"),
        flops=lambda _: 0.0,
        oracle=_embedding,
        references={"cpp": _EMBEDDING_CPP},
        least_bytes_override=_least_bytes,
    ),
)
