"""Attention family: softmax(Q Kᵀ / √dim) V for each head."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload


def _attention(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    q, k, v = (arrays[name].astype(np.float64) for name in ("q", "k", "v"))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(sizes["dim"])
    e = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (e / e.sum(axis=2, keepdims=True) @ v,)


ATTENTION_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* q, const float* k, const float* v, float* out, int64_t heads, int64_t queries,
                       int64_t keys, int64_t dim) {
    float* score = new float[keys];
    for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i) {
            float peak = -INFINITY;
            for (int64_t j = 0; j < keys; ++j) {
                float sum = 0.0f;
                for (int64_t d = 0; d < dim; ++d) sum += q[(h * queries + i) * dim + d] * k[(h * keys + j) * dim + d];
                score[j] = sum / std::sqrt((float)dim);
                if (score[j] > peak) peak = score[j];
            }
            float total = 0.0f;
            for (int64_t j = 0; j < keys; ++j) {
                score[j] = std::exp(score[j] - peak);
                total += score[j];
            }
            for (int64_t j = 0; j < keys; ++j) score[j] /= total;
            for (int64_t d = 0; d < dim; ++d) {
                float sum = 0.0f;
                for (int64_t j = 0; j < keys; ++j) sum += score[j] * v[(h * keys + j) * dim + d];
                out[(h * queries + i) * dim + d] = sum;
            }
        }
    delete[] score;
}
"""


def _shape(heads: int, queries: int, keys: int, dim: int) -> Workload:
    return Workload({"heads": heads, "queries": queries, "keys": keys, "dim": dim})


def _flops(s: Sizes) -> float:
    return (4.0 * s["dim"] + 5.0) * s["heads"] * s["queries"] * s["keys"]


TASKS = (
    Task(
        name="attention",
        family="attention",
        summary="softmax(Q Kᵀ / √dim) V for each head, without a mask",
        sizes=("heads", "queries", "keys", "dim"),
        inputs=(
            Tensor("q", "float32", ("heads", "queries", "dim"), fill="wide"),
            Tensor("k", "float32", ("heads", "keys", "dim")),
            Tensor("v", "float32", ("heads", "keys", "dim")),
        ),
        outputs=(Tensor("out", "float32", ("heads", "queries", "dim")),),
        workloads=(_shape(3, 56, 64, 64), _shape(1, 128, 144, 32), _shape(24, 1, 320, 64)),
        extra=(_shape(1, 1, 1, 1), _shape(3, 5, 7, 3), _shape(2, 13, 37, 19), _shape(1, 3, 131, 33)),
        tolerance=Tolerance(
            1e-3, 2e-4, "float32 scores of about ±100 lose 1e-5 each, and exp turns that into a relative error"
        ),
        flops=_flops,
        oracle=_attention,
        references={"cpp": ATTENTION_CPP},
    ),
)
