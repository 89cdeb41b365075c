"""Elementwise family: each output depends on a few values at its place, or shared by its column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Oracle, Sizes, Task, Tensor, Tolerance, Workload

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

_GEGLU_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {
            float a = x[i * 2 * cols + j], b = x[i * 2 * cols + cols + j];
            float u = 0.7978845608f * (a + 0.044715f * a * a * a);
            out[i * cols + j] = 0.5f * a * (1.0f + std::tanh(u)) * b;
        }
}
"""

_MUL_ADD_EXP_CPP = """\
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, const float* y, const float* z, float* out, int64_t rows, int64_t cols) {
    for (int64_t k = 0; k < rows * cols; ++k)
        out[k] = std::exp(std::min(std::max(x[k] * y[k] + z[k], -4.0f), 4.0f));
}
"""

_MASKED_RESIDUAL_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, const uint8_t* keep, const float* residual, float* out, int64_t rows,
                       int64_t cols) {
    for (int64_t k = 0; k < rows * cols; ++k) out[k] = residual[k] + x[k] * keep[k] * 1.25f;
}
"""


def _gelu(v: NDArray[Any]) -> NDArray[Any]:
    u = math.sqrt(2 / math.pi) * v * (1 + 0.044715 * v * v)
    gelu: NDArray[Any] = v * np.exp(-np.logaddexp(0, -2 * u))  # without overflow
    return gelu


def _bias_gelu(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (_gelu(arrays["x"].astype(np.float64) + arrays["bias"]),)


def _geglu(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    left, right = np.split(arrays["x"].astype(np.float64), 2, axis=1)
    return (_gelu(left) * right,)


def _mul_add_exp(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.exp(np.clip(arrays["x"].astype(np.float64) * arrays["y"] + arrays["z"], -4, 4)),)


def _masked_residual(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (arrays["residual"] + arrays["x"].astype(np.float64) * arrays["keep"] * 1.25,)


def _matrix(name: str) -> Tensor:
    return Tensor(name, "float32", ("rows", "cols"))


def _matrix_task(
    name: str,
    summary: str,
    inputs: tuple[Tensor, ...],
    tolerance: Tolerance,
    flops: float,
    oracle: Oracle,
    reference: str,
    timed: tuple[tuple[int, int], tuple[int, int]],
) -> Task:
    return Task(
        name=name,
        family="elementwise",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=(_matrix("out"),),
        workloads=tuple(Workload({"rows": rows, "cols": cols}) for rows, cols in timed),
        extra=(Workload({"rows": 13, "cols": 67}), Workload({"rows": 101, "cols": 3})),
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=oracle,
        references={"cpp": reference},
    )


TASKS = (
    Task(
        name="bias_gelu",
        family="elementwise",
        summary="v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3))) with v = x + bias, for |v| up to 40",
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
    _matrix_task(
        "geglu",
        "gelu(a) * b, gelu in its form with tanh, for |a| up to 32; a and b are the left and right half of each row",
        (Tensor("x", "float32", ("rows", "2 * cols")),),
        Tolerance(1e-5, 2e-5, "a float32 tanh near -1 leaves 1 + tanh with an error of 1e-7, times |a * b| up to 25"),
        21,
        _geglu,
        _GEGLU_CPP,
        ((96, 1024), (288, 336)),
    ),
    _matrix_task(
        "mul_add_exp",
        "exp(x * y + z), the exponent held between -4 and 4",
        (_matrix("x"), _matrix("y"), _matrix("z")),
        Tolerance(2e-5, 1e-6, "float32 exponents of up to 4, rounded once or twice, and a short exponential"),
        5,
        _mul_add_exp,
        _MUL_ADD_EXP_CPP,
        ((384, 1024), (1152, 336)),
    ),
    _matrix_task(
        "masked_residual",
        "residual + x * keep * 1.25, where keep is 0 or 1",
        (_matrix("x"), Tensor("keep", "uint8", ("rows", "cols"), fill="index:2"), _matrix("residual")),
        Tolerance(2e-6, 2e-6, "two float32 roundings of numbers up to 10 that may cancel"),
        3,
        _masked_residual,
        _MASKED_RESIDUAL_CPP,
        ((1024, 2048), (6144, 336)),
    ),
)
