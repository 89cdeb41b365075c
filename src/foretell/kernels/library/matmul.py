"""Matmul family: dense products of float32 matrices, plain, batched and with the right side stored transposed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_TOLERANCE = Tolerance(
    1e-4, 5e-4, "float32 sums of up to 1024 products in any order; the sums are about 30 and may cancel to near 0"
)
_PRECISION = "products of fewer bits are right as long as every sum is within the tolerance"


def _matmul(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.matmul(arrays["a"].astype(np.float64), arrays["b"].astype(np.float64)),)


def _matmul_transposed(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.matmul(arrays["a"].astype(np.float64), arrays["b"].astype(np.float64).T),)


MATMUL_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}
"""

MATMUL_TRANSPOSED_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = 0.0f;
            for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[j * k + p];
            c[i * n + j] = sum;
        }
}
"""

BATCHED_MATMUL_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* a, const float* b, float* c, int64_t batch, int64_t m, int64_t n, int64_t k) {
    for (int64_t s = 0; s < batch; ++s)
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                float sum = 0.0f;
                for (int64_t p = 0; p < k; ++p) sum += a[(s * m + i) * k + p] * b[(s * k + p) * n + j];
                c[(s * m + i) * n + j] = sum;
            }
}
"""


def _flat(m: int, n: int, k: int) -> Workload:
    return Workload({"m": m, "n": n, "k": k})


def _stack(batch: int, m: int, n: int, k: int) -> Workload:
    return Workload({"batch": batch, "m": m, "n": n, "k": k})


_FLAT_WORKLOADS = (_flat(128, 128, 128), _flat(16, 512, 300), _flat(400, 24, 256), _flat(64, 40, 1000))
_FLAT_EXTRA = (_flat(1, 1, 1), _flat(5, 7, 3), _flat(37, 61, 29), _flat(1, 131, 67))

TASKS = (
    Task(
        name="matmul",
        family="matmul",
        summary=f"C = A B for float32 matrices in row-major order; {_PRECISION}",
        sizes=("m", "n", "k"),
        inputs=(Tensor("a", "float32", ("m", "k")), Tensor("b", "float32", ("k", "n"))),
        outputs=(Tensor("c", "float32", ("m", "n")),),
        workloads=_FLAT_WORKLOADS,
        extra=_FLAT_EXTRA,
        tolerance=_TOLERANCE,
        flops=lambda s: 2.0 * s["m"] * s["n"] * s["k"],
        oracle=_matmul,
        references={"cpp": MATMUL_CPP},
    ),
    Task(
        name="batched_matmul",
        family="matmul",
        summary=f"C[s] = A[s] B[s] for a stack of small float32 matrices; {_PRECISION}",
        sizes=("batch", "m", "n", "k"),
        inputs=(Tensor("a", "float32", ("batch", "m", "k")), Tensor("b", "float32", ("batch", "k", "n"))),
        outputs=(Tensor("c", "float32", ("batch", "m", "n")),),
        workloads=(_stack(64, 32, 32, 32), _stack(6, 64, 64, 96), _stack(300, 8, 16, 48)),
        extra=(_stack(1, 1, 1, 1), _stack(3, 5, 7, 11), _stack(2, 17, 37, 23), _stack(7, 1, 19, 1)),
        tolerance=_TOLERANCE,
        flops=lambda s: 2.0 * s["batch"] * s["m"] * s["n"] * s["k"],
        oracle=_matmul,
        references={"cpp": BATCHED_MATMUL_CPP},
    ),
    Task(
        name="matmul_transposed",
        family="matmul",
        summary=f"C = A Bᵀ for float32 matrices in row-major order: rows meet rows; {_PRECISION}",
        sizes=("m", "n", "k"),
        inputs=(Tensor("a", "float32", ("m", "k")), Tensor("b", "float32", ("n", "k"))),
        outputs=(Tensor("c", "float32", ("m", "n")),),
        workloads=_FLAT_WORKLOADS,
        extra=_FLAT_EXTRA,
        tolerance=_TOLERANCE,
        flops=lambda s: 2.0 * s["m"] * s["n"] * s["k"],
        oracle=_matmul_transposed,
        references={"cpp": MATMUL_TRANSPOSED_CPP},
    ),
)
