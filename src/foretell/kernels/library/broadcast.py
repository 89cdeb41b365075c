"""Broadcast family: matrices met by a vector over their rows or columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Oracle, Sizes, Task, Tensor, Tolerance, Workload

_EXTRA = (Workload({"rows": 13, "cols": 67}), Workload({"rows": 101, "cols": 3}))


def _row_column_scale(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    factors = np.outer(arrays["row_scale"].astype(np.float64), arrays["column_scale"])
    return (arrays["x"] * factors,)


def _add_bias_residual(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (arrays["x"].astype(np.float64) + arrays["residual"] + arrays["bias"],)


def _task(
    name: str, summary: str, inputs: tuple[Tensor, ...], tolerance: Tolerance, oracle: Oracle, value: str
) -> Task:
    """`value` is the C++ expression over i, j and the place k."""
    parameters = ", ".join(f"const float* {tensor.name}" for tensor in inputs)
    reference = f"""\
#include <cstdint>

extern "C" void kernel({parameters}, float* out, int64_t rows, int64_t cols) {{
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {{
            const int64_t k = i * cols + j;
            out[k] = {value};
        }}
}}
"""
    return Task(
        name=name,
        family="broadcast",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(Workload({"rows": 1024, "cols": 2048}), Workload({"rows": 6144, "cols": 336})),
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: 2.0 * s["rows"] * s["cols"],
        oracle=oracle,
        references={"cpp": reference},
    )


def _matrix(name: str) -> Tensor:
    return Tensor(name, "float32", ("rows", "cols"))


TASKS = (
    _task(
        "row_column_scale",
        "out[i][j] = x[i][j] * r[i] * c[j]",
        (
            _matrix("x"),
            Tensor("row_scale", "float32", ("rows",), fill="positive"),
            Tensor("column_scale", "float32", ("cols",), fill="positive"),
        ),
        Tolerance(2e-6, 1e-7, "two or three float32 roundings, in any order"),
        _row_column_scale,
        "x[k] * row_scale[i] * column_scale[j]",
    ),
    _task(
        "add_bias_residual",
        "out[i][j] = x[i][j] + bias[j] + residual[i][j]",
        (_matrix("x"), _matrix("residual"), Tensor("bias", "float32", ("cols",))),
        Tolerance(2e-6, 2e-6, "two float32 roundings of sums up to 10, in any order, that may cancel"),
        _add_bias_residual,
        "x[k] + bias[j] + residual[k]",
    ),
)
