"""Elementwise family: each output depends on one input and on a value shared by its column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_BIAS_GELU_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, const float* bias, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {
            float v = x[i * cols + j] + bias[j];
            float u = 0.7978845608f * (v + 0.044715f * v * v * v);
            out[i * cols + j] = 0.5f * v * (1.0f + std::tanh(u));
        }
}
"""


def _bias_gelu(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    v = arrays["x"].astype(np.float64) + arrays["bias"]
    u = math.sqrt(2 / math.pi) * v * (1 + 0.044715 * v * v)
    return (v / (1 + np.exp(-2 * u)),)


TASKS = (
    Task(
        name="bias_gelu",
        family="elementwise",
        summary="v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3))) with v = x + bias",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols")), Tensor("bias", "float32", ("cols",))),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(
            Workload({"rows": 128, "cols": 1024}),
            Workload({"rows": 8, "cols": 16384}),
            Workload({"rows": 2048, "cols": 64}),
        ),
        extra=(
            Workload({"rows": 1, "cols": 1}),
            Workload({"rows": 13, "cols": 67}),
            Workload({"rows": 101, "cols": 3}),
        ),
        tolerance=Tolerance(
            1e-5, 2e-5, "a float32 tanh near -1 leaves 1 + tanh with an error of 1e-7, times |v| up to about 8"
        ),
        flops=lambda s: 20.0 * s["rows"] * s["cols"],
        oracle=_bias_gelu,
        references={"cpp": _BIAS_GELU_CPP},
    ),
)
