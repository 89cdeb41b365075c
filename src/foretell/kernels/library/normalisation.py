"""Normalisation family: rows brought to unit spread, then scaled (and shifted) per column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_EPSILON = 1e-5

# Rows of two wide numbers: in some of them the numbers nearly agree, and a variance taken as a difference of
# large squares loses all its digits.
_CLOSE_PAIRS = Workload({"rows": 5000, "cols": 2})

_LAYERNORM_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, const float* gamma, const float* beta, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float mean = 0.0f;
        for (int64_t j = 0; j < cols; ++j) mean += x[i * cols + j];
        mean /= cols;
        float var = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {
            float d = x[i * cols + j] - mean;
            var += d * d;
        }
        var /= cols;
        float scale = 1.0f / std::sqrt(var + 1e-5f);
        for (int64_t j = 0; j < cols; ++j)
            out[i * cols + j] = (x[i * cols + j] - mean) * scale * gamma[j] + beta[j];
    }
}
"""

_RMSNORM_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, const float* gamma, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float squares = 0.0f;
        for (int64_t j = 0; j < cols; ++j) squares += x[i * cols + j] * x[i * cols + j];
        float scale = 1.0f / std::sqrt(squares / cols + 1e-5f);
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = x[i * cols + j] * scale * gamma[j];
    }
}
"""


def _layernorm(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    var = np.square(centred).mean(axis=1, keepdims=True)
    return (centred / np.sqrt(var + _EPSILON) * arrays["gamma"] + arrays["beta"],)


def _rmsnorm(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    scale = 1 / np.sqrt(np.einsum("ij,ij->i", x, x) / x.shape[1] + _EPSILON)
    return (x * scale[:, None] * arrays["gamma"],)


TASKS = (
    Task(
        name="layernorm",
        family="normalisation",
        summary="(x - mean) / sqrt(variance + 1e-5) * gamma + beta of each row, whose mean may outweigh its deviation",
        sizes=("rows", "cols"),
        inputs=(
            Tensor("x", "float32", ("rows", "cols"), fill="wide"),
            Tensor("gamma", "float32", ("cols",), fill="positive"),
            Tensor("beta", "float32", ("cols",)),
        ),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(
            Workload({"rows": 768, "cols": 1024}),
            Workload({"rows": 40, "cols": 16384}),
            Workload({"rows": 10240, "cols": 96}),
        ),
        extra=(_CLOSE_PAIRS, Workload({"rows": 3, "cols": 1}), Workload({"rows": 17, "cols": 129})),
        tolerance=Tolerance(
            1e-4, 1e-4, "a float32 sum of squares; up to 20 times as wide for rows whose mean outweighs their deviation"
        ),
        flops=lambda s: 8.0 * s["rows"] * s["cols"],
        oracle=_layernorm,
        references={"cpp": _LAYERNORM_CPP},
    ),
    Task(
        name="rmsnorm",
        family="normalisation",
        summary="x / sqrt(mean square + 1e-5) * gamma of each row",
        sizes=("rows", "cols"),
        inputs=(
            Tensor("x", "float32", ("rows", "cols"), fill="wide"),
            Tensor("gamma", "float32", ("cols",), fill="positive"),
        ),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(
            Workload({"rows": 1536, "cols": 1024}),
            Workload({"rows": 40, "cols": 32768}),
            Workload({"rows": 24576, "cols": 64}),
        ),
        extra=(
            Workload({"rows": 3, "cols": 1}),
            Workload({"rows": 19, "cols": 131}),
            Workload({"rows": 1, "cols": 2053}),
        ),
        tolerance=Tolerance(1e-4, 1e-6, "a float32 sum of up to 32768 squares in any order, then one root"),
        flops=lambda s: 4.0 * s["rows"] * s["cols"],
        oracle=_rmsnorm,
        references={"cpp": _RMSNORM_CPP},
    ),
)
