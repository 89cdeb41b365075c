"""Activation family: each output is a function of the input at its place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_COSTLY = ((192, 1024), (576, 336))
_CHEAP = ((384, 1024), (1152, 336))
_LIGHT = ((1024, 2048), (6144, 336))
_EXTRA = (Workload({"rows": 13, "cols": 67}), Workload({"rows": 101, "cols": 3}))


def _task(
    name: str,
    summary: str,
    fill: str,
    tolerance: Tolerance,
    flops: float,
    function: Callable[[NDArray[Any]], NDArray[Any]],
    value: str,
    timed: tuple[tuple[int, int], ...] = _COSTLY,
) -> Task:
    """`function` is the oracle's, of a double; `value` is the C++ expression over the float `v`."""

    def oracle(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
        return (function(arrays["x"].astype(np.float64)),)

    reference = f"""\
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {{
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {{
            const float v = x[i * cols + j];
            out[i * cols + j] = {value};
        }}
}}
"""
    return Task(
        name=name,
        family="activation",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill=fill),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=tuple(Workload({"rows": rows, "cols": cols}) for rows, cols in timed),
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=oracle,
        references={"cpp": reference},
    )


TASKS = (
    _task(
        "silu",
        "x * sigmoid(x)",
        "normal",
        Tolerance(1e-5, 2e-6, "a float32 exponential and one quotient, or 1 + tanh near 0 with an error of 1e-7"),
        5,
        lambda x: x * np.exp(-np.logaddexp(0, -x)),  # without overflow
        "v / (1.0f + std::exp(-v))",
        _CHEAP,
    ),
    _task(
        "softplus",
        "log(1 + exp(x)), for large x too",
        "wide",
        Tolerance(1e-5, 1e-5, "a float32 exponential, and the logarithm of a number that rounds to 1"),
        6,
        lambda x: np.logaddexp(0, x),
        "v > 20.0f ? v : std::log1p(std::exp(v))",
    ),
    _task(
        "hardswish",
        "x * min(max(x + 3, 0), 6) / 6",
        "wide",
        Tolerance(1e-5, 2e-6, "a few float32 roundings, and x + 3 near 0"),
        5,
        lambda x: x * np.clip(x + 3, 0, 6) / 6,
        "v * std::min(std::max(v + 3.0f, 0.0f), 6.0f) / 6.0f",
        _LIGHT,
    ),
    _task(
        "gelu_erf",
        "x / 2 * (1 + erf(x / sqrt(2)))",
        "normal",
        Tolerance(1e-5, 1e-5, "1 + erf near 0 with an error of a few 1e-7, by libm or by a short formula, times |x|"),
        8,
        lambda x: x / 2 * np.vectorize(math.erfc, otypes=[np.float64])(-x * math.sqrt(0.5)),
        "0.5f * v * (1.0f + std::erf(v * 0.70710678f))",
    ),
)
