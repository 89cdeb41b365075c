"""Softmax family: row-wise normalised exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_WORKLOADS = (
    Workload({"rows": 256, "cols": 512}),
    Workload({"rows": 16, "cols": 8192}),
    Workload({"rows": 2048, "cols": 64}),
)
_EXTRA = (Workload({"rows": 3, "cols": 1}), Workload({"rows": 17, "cols": 129}), Workload({"rows": 1, "cols": 5003}))


def _softmax(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True),)


def _log_softmax(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    shifted = x - x.max(axis=1, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)),)


SOFTMAX_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float peak = -INFINITY;
        for (int64_t j = 0; j < cols; ++j)
            if (x[i * cols + j] > peak) peak = x[i * cols + j];
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {
            out[i * cols + j] = std::exp(x[i * cols + j] - peak);
            sum += out[i * cols + j];
        }
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] /= sum;
    }
}
"""

LOG_SOFTMAX_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float peak = -INFINITY;
        for (int64_t j = 0; j < cols; ++j)
            if (x[i * cols + j] > peak) peak = x[i * cols + j];
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[i * cols + j] - peak);
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = x[i * cols + j] - peak - std::log(sum);
    }
}
"""


def _row_task(name: str, summary: str, oracle: Any, tolerance: Tolerance, flops_per_item: float, cpp: str) -> Task:
    return Task(
        name=name,
        family="softmax",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="wide"),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: flops_per_item * s["rows"] * s["cols"],
        oracle=oracle,
        references={"cpp": cpp},
    )


TASKS = (
    _row_task(
        "softmax",
        "exp(x - max) / sum of each row",
        _softmax,
        Tolerance(2e-4, 1e-9, "float32 exp and a sum of up to 8192 terms in any order, outputs down to 1e-5"),
        5,
        SOFTMAX_CPP,
    ),
    _row_task(
        "log_softmax",
        "x - max - log(sum exp(x - max)) of each row",
        _log_softmax,
        Tolerance(1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"),
        5,
        LOG_SOFTMAX_CPP,
    ),
)
