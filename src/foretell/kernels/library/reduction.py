"""Reduction family: a matrix folded along its rows or its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_ROW_SUM_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) sum += x[i * cols + j];
        out[i] = sum;
    }
}
"""

_COLUMN_SUM_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t j = 0; j < cols; ++j) {
        float sum = 0.0f;
        for (int64_t i = 0; i < rows; ++i) sum += x[i * cols + j];
        out[j] = sum;
    }
}
"""

_ARGMAX_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, int64_t* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        int64_t best = 0;
        for (int64_t j = 1; j < cols; ++j)
            if (x[i * cols + j] > x[i * cols + best]) best = j;
        out[i] = best;
    }
}
"""


def _row_sum(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (arrays["x"].sum(axis=1, dtype=np.float64),)


def _column_sum(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (arrays["x"].sum(axis=0, dtype=np.float64),)


def _argmax(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (arrays["x"].argmax(axis=1),)


TASKS = (
    Task(
        name="row_sum",
        family="reduction",
        summary="sum of each row",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="uniform"),),
        outputs=(Tensor("out", "float32", ("rows",)),),
        workloads=(
            Workload({"rows": 2048, "cols": 1536}),
            Workload({"rows": 32, "cols": 98304}),
            Workload({"rows": 65536, "cols": 64}),
        ),
        extra=(
            Workload({"rows": 3, "cols": 1}),
            Workload({"rows": 23, "cols": 131}),
            Workload({"rows": 1, "cols": 4099}),
        ),
        tolerance=Tolerance(
            1e-4, 1e-6, "a float32 running sum of 98304 numbers of one sign is off by about 1e-5 of itself"
        ),
        flops=lambda s: float(s["rows"] * s["cols"]),
        oracle=_row_sum,
        references={"cpp": _ROW_SUM_CPP},
    ),
    Task(
        name="column_sum",
        family="reduction",
        summary="sum of each column",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="uniform"),),
        outputs=(Tensor("out", "float32", ("cols",)),),
        workloads=(
            Workload({"rows": 1024, "cols": 1024}),
            Workload({"rows": 16384, "cols": 64}),
            Workload({"rows": 256, "cols": 8192}),
        ),
        extra=(
            Workload({"rows": 1, "cols": 7}),
            Workload({"rows": 131, "cols": 23}),
            Workload({"rows": 4099, "cols": 1}),
        ),
        tolerance=Tolerance(
            1e-4, 1e-6, "a float32 running sum of 16384 numbers of one sign is off by about 1e-6 of itself"
        ),
        flops=lambda s: float(s["rows"] * s["cols"]),
        oracle=_column_sum,
        references={"cpp": _COLUMN_SUM_CPP},
    ),
    Task(
        name="argmax",
        family="reduction",
        summary="index of each row's maximum, the first one where several are equal",
        sizes=("rows", "cols"),
        # Whole numbers below 3000: many rows hold their maximum more than once, so the rule for ties is tested.
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="index:3000"),),
        outputs=(Tensor("out", "int64", ("rows",)),),
        workloads=(
            Workload({"rows": 1024, "cols": 1536}),
            Workload({"rows": 16, "cols": 98304}),
            Workload({"rows": 24576, "cols": 64}),
        ),
        extra=(
            Workload({"rows": 3, "cols": 1}),
            Workload({"rows": 401, "cols": 131}),
            Workload({"rows": 1, "cols": 40009}),
        ),
        tolerance=Tolerance(0.0, 0.0, "an index is right or wrong"),
        flops=lambda s: float(s["rows"] * s["cols"]),
        oracle=_argmax,
        references={"cpp": _ARGMAX_CPP},
    ),
)
