"""Scan family: running totals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Oracle, Sizes, Task, Tensor, Tolerance, Workload

_PREFIX_SUM_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {
            sum += x[i * cols + j];
            out[i * cols + j] = sum;
        }
    }
}
"""


_EXCLUSIVE_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {
            out[i * cols + j] = sum;
            sum += x[i * cols + j];
        }
    }
}
"""

_REVERSE_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float sum = 0.0f;
        for (int64_t j = cols - 1; j >= 0; --j) {
            sum += x[i * cols + j];
            out[i * cols + j] = sum;
        }
    }
}
"""


def _prefix_sum(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.cumsum(arrays["x"], axis=1, dtype=np.float64),)


def _exclusive_cumsum(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    return (np.cumsum(x, axis=1) - x,)


def _reverse_cumsum(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.cumsum(arrays["x"][:, ::-1], axis=1, dtype=np.float64)[:, ::-1].copy(),)


def _variant(name: str, summary: str, tolerance: Tolerance, oracle: Oracle, reference: str) -> Task:
    return Task(
        name=name,
        family="scan",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="uniform"),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(Workload({"rows": 1024, "cols": 2048}), Workload({"rows": 16384, "cols": 128})),
        extra=(Workload({"rows": 19, "cols": 131}), Workload({"rows": 3, "cols": 1037})),
        tolerance=tolerance,
        flops=lambda s: float(s["rows"] * s["cols"]),
        oracle=oracle,
        references={"cpp": reference},
    )


TASKS = (
    Task(
        name="prefix_sum",
        family="scan",
        summary="inclusive running total along each row",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="uniform"),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(
            Workload({"rows": 2048, "cols": 1024}),
            Workload({"rows": 32, "cols": 65536}),
            Workload({"rows": 32768, "cols": 64}),
        ),
        extra=(
            Workload({"rows": 5, "cols": 1}),
            Workload({"rows": 19, "cols": 131}),
            Workload({"rows": 1, "cols": 4099}),
        ),
        tolerance=Tolerance(
            1e-4, 1e-6, "a float32 running total of 65536 numbers carries a rounding error of about 1e-5 of itself"
        ),
        flops=lambda s: float(s["rows"] * s["cols"]),
        oracle=_prefix_sum,
        references={"cpp": _PREFIX_SUM_CPP},
    ),
    _variant(
        "exclusive_cumsum",
        "running total along each row of the items before each item",
        Tolerance(5e-5, 1e-3, "float32 sums of up to 2048 positive terms in any order, perhaps less the last term"),
        _exclusive_cumsum,
        _EXCLUSIVE_CPP,
    ),
    _variant(
        "reverse_cumsum",
        "running total of each row from its end: out[i][j] = x[i][j] + x[i][j + 1] + ...",
        Tolerance(5e-5, 3e-3, "float32 sums of up to 2048 positive terms in any order, perhaps as a difference of two"),
        _reverse_cumsum,
        _REVERSE_CPP,
    ),
)
