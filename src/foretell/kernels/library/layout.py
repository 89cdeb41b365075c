"""Layout family: the same numbers in another order of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload


def _transpose(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.ascontiguousarray(arrays["x"].T),)


TRANSPOSE_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) out[j * rows + i] = x[i * cols + j];
}
"""


def _permute_021(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.ascontiguousarray(arrays["x"].swapaxes(1, 2)),)


def _flip_columns(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.ascontiguousarray(arrays["x"][:, ::-1]),)


PERMUTE_021_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t batch, int64_t rows, int64_t cols) {
    for (int64_t b = 0; b < batch; ++b)
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j) out[(b * cols + j) * rows + i] = x[(b * rows + i) * cols + j];
}
"""

FLIP_COLUMNS_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = x[i * cols + cols - 1 - j];
}
"""


def _plane(rows: int, cols: int) -> Workload:
    return Workload({"rows": rows, "cols": cols})


def _stack(batch: int, rows: int, cols: int) -> Workload:
    return Workload({"batch": batch, "rows": rows, "cols": cols})


TASKS = (
    Task(
        name="transpose",
        family="layout",
        summary="out[j][i] = x[i][j] of a float32 matrix in row-major order",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols")),),
        outputs=(Tensor("out", "float32", ("cols", "rows")),),
        workloads=(_plane(1024, 640), _plane(96, 12000), _plane(4096, 200)),
        extra=(_plane(1, 1), _plane(1, 37), _plane(61, 5), _plane(67, 131)),
        tolerance=Tolerance(0.0, 0.0, "numbers are only moved, so every bit must survive"),
        flops=lambda s: 0.0,
        oracle=_transpose,
        references={"cpp": TRANSPOSE_CPP},
    ),
    Task(
        name="permute_021",
        family="layout",
        summary="out[b][j][i] = x[b][i][j] of a batch of matrices",
        sizes=("batch", "rows", "cols"),
        inputs=(Tensor("x", "float32", ("batch", "rows", "cols")),),
        outputs=(Tensor("out", "float32", ("batch", "cols", "rows")),),
        workloads=(_stack(8, 320, 256), _stack(96, 120, 72)),
        extra=(_stack(3, 37, 53), _stack(2, 19, 5)),
        tolerance=Tolerance(0.0, 0.0, "numbers are only moved, so every bit must survive"),
        flops=lambda s: 0.0,
        oracle=_permute_021,
        references={"cpp": PERMUTE_021_CPP},
    ),
    Task(
        name="flip_columns",
        family="layout",
        summary="out[i][j] = x[i][cols - 1 - j]",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols")),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(_plane(1024, 2048), _plane(12288, 208)),
        extra=(_plane(13, 67), _plane(5, 331)),
        tolerance=Tolerance(0.0, 0.0, "numbers are only moved, so every bit must survive"),
        flops=lambda s: 0.0,
        oracle=_flip_columns,
        references={"cpp": FLIP_COLUMNS_CPP},
    ),
)
