"""Loss family: one number per row of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_CROSS_ENTROPY_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* logits, const int64_t* targets, float* loss, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float peak = -INFINITY;
        for (int64_t j = 0; j < cols; ++j)
            if (logits[i * cols + j] > peak) peak = logits[i * cols + j];
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) sum += std::exp(logits[i * cols + j] - peak);
        loss[i] = std::log(sum) + peak - logits[i * cols + targets[i]];
    }
}
"""


def _cross_entropy(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    logits = arrays["logits"].astype(np.float64)
    peak = logits.max(axis=1)
    log_sum = peak + np.log(np.exp(logits - peak[:, None]).sum(axis=1))
    return (log_sum - np.take_along_axis(logits, arrays["targets"][:, None], axis=1)[:, 0],)


TASKS = (
    Task(
        name="cross_entropy",
        family="loss",
        summary="log of the summed exponentials of a row of logits, minus the logit of its target",
        sizes=("rows", "cols"),
        inputs=(
            Tensor("logits", "float32", ("rows", "cols"), fill="wide"),
            Tensor("targets", "int64", ("rows",), fill="index:cols"),
        ),
        outputs=(Tensor("loss", "float32", ("rows",)),),
        workloads=(
            Workload({"rows": 256, "cols": 1024}),
            Workload({"rows": 8, "cols": 32000}),
            Workload({"rows": 4096, "cols": 64}),
        ),
        extra=(
            Workload({"rows": 3, "cols": 1}),
            Workload({"rows": 37, "cols": 131}),
            Workload({"rows": 1, "cols": 5003}),
        ),
        tolerance=Tolerance(
            1e-5, 1e-4, "float32 differences of numbers up to 200, and the logarithm of a sum of up to 32000 terms"
        ),
        flops=lambda s: 4.0 * s["rows"] * s["cols"],
        oracle=_cross_entropy,
        references={"cpp": _CROSS_ENTROPY_CPP},
    ),
)
