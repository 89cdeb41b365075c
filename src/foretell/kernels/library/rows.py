"""Operations on rows one by one, of the reduction, softmax and loss families: one number a row, or one row a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload

_SUMS = (Workload({"rows": 1024, "cols": 1536}), Workload({"rows": 192, "cols": 8192}))
_PAIRS = (Workload({"rows": 640, "cols": 1536}), Workload({"rows": 128, "cols": 8192}))
_EXPONENTIALS = (Workload({"rows": 256, "cols": 1024}), Workload({"rows": 32, "cols": 8192}))
_EXTRA = (Workload({"rows": 37, "cols": 131}), Workload({"rows": 101, "cols": 3}))

_PEAK = """\
        float peak = -INFINITY;
        for (int64_t j = 0; j < cols; ++j)
            if (x[i * cols + j] > peak) peak = x[i * cols + j];
"""


def _reference(names: tuple[str, ...], body: str) -> str:
    arguments = ", ".join(f"const float* {name}" for name in names)
    return f"""\
#include <cmath>
#include <cstdint>

extern "C" void kernel({arguments}, float* out, int64_t rows, int64_t cols) {{
    for (int64_t i = 0; i < rows; ++i) {{
{body}    }}
}}
"""


def _task(
    name: str,
    family: str,
    summary: str,
    inputs: dict[str, str],
    workloads: tuple[Workload, ...],
    tolerance: Tolerance,
    flops: float,
    oracle: Callable[..., NDArray[Any]],
    body: str,
    whole_rows: bool = False,
) -> Task:
    """A task whose `inputs` map names to fills; `oracle` gets them in order in double precision."""

    def judge(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
        return (oracle(*(arrays[key].astype(np.float64) for key in inputs)),)

    return Task(
        name=name,
        family=family,
        summary=summary,
        sizes=("rows", "cols"),
        inputs=tuple(Tensor(key, "float32", ("rows", "cols"), fill=fill) for key, fill in inputs.items()),
        outputs=(Tensor("out", "float32", ("rows", "cols") if whole_rows else ("rows",)),),
        workloads=workloads,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=judge,
        references={"cpp": _reference(tuple(inputs), body)},
    )


def _logsumexp(x: NDArray[Any]) -> NDArray[Any]:
    peak = x.max(axis=1)
    return np.asarray(peak + np.log(np.exp(x - peak[:, None]).sum(axis=1)))


def _softmax_scaled(x: NDArray[Any]) -> NDArray[Any]:
    e = np.exp((x - x.max(axis=1, keepdims=True)) / 8)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _huber(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    d = np.abs(a - b)
    return np.asarray(np.where(d <= 1, d * d / 2, d - 0.5).mean(axis=1))


TASKS = (
    _task(
        "row_max",
        "reduction",
        "maximum of each row",
        {"x": "normal"},
        _SUMS,
        Tolerance(0.0, 0.0, "the result is one of the items, whatever the order"),
        1.0,
        lambda x: np.asarray(x.max(axis=1)),
        _PEAK + "        out[i] = peak;\n",
    ),
    _task(
        "row_mean",
        "reduction",
        "mean of each row",
        {"x": "uniform"},
        _SUMS,
        Tolerance(5e-5, 1e-6, "a float32 running sum of 8192 positive terms is off by a few parts in a million"),
        1.0,
        lambda x: np.asarray(x.mean(axis=1)),
        """\
        float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j) total += x[i * cols + j];
        out[i] = total / cols;
""",
    ),
    _task(
        "row_var",
        "reduction",
        "unbiased variance of each row",
        {"x": "uniform"},
        (Workload({"rows": 768, "cols": 1024}), Workload({"rows": 192, "cols": 4096})),
        Tolerance(2e-4, 1e-6, "float32 running moments of up to 4096 terms, also as mean square less squared mean"),
        4.0,
        lambda x: np.asarray(x.var(axis=1, ddof=1)),
        """\
        float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j) total += x[i * cols + j];
        const float mean = total / cols;
        float spread = 0.0f;
        for (int64_t j = 0; j < cols; ++j) spread += (x[i * cols + j] - mean) * (x[i * cols + j] - mean);
        out[i] = spread / (cols - 1);
""",
    ),
    _task(
        "row_logsumexp",
        "reduction",
        "log of the summed exponentials of each row",
        {"x": "wide"},
        _EXPONENTIALS,
        Tolerance(1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"),
        4.0,
        _logsumexp,
        _PEAK
        + """\
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[i * cols + j] - peak);
        out[i] = std::log(sum) + peak;
""",
    ),
    _task(
        "row_dot",
        "reduction",
        "dot product of each pair of rows",
        {"x": "normal", "y": "normal"},
        _PAIRS,
        Tolerance(1e-4, 2e-3, "float32 sum of up to 8192 products of both signs in any order"),
        2.0,
        lambda x, y: np.asarray((x * y).sum(axis=1)),
        """\
        float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j) total += x[i * cols + j] * y[i * cols + j];
        out[i] = total;
""",
    ),
    _task(
        "softmax_scaled",
        "softmax",
        "softmax of each row divided by the temperature 8",
        {"x": "wide"},
        _EXPONENTIALS,
        Tolerance(2e-4, 1e-9, "float32 exp and a sum of up to 8192 terms in any order, outputs down to 1e-5"),
        6.0,
        _softmax_scaled,
        _PEAK
        + """\
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {
            out[i * cols + j] = std::exp((x[i * cols + j] - peak) / 8.0f);
            sum += out[i * cols + j];
        }
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] /= sum;
""",
        whole_rows=True,
    ),
    _task(
        "softmax_backward",
        "softmax",
        "y * (grad - sum(y * grad)) of each row: the gradient through a softmax",
        {"y": "uniform", "grad": "normal"},
        _PAIRS,
        Tolerance(1e-4, 2e-3, "float32 sum of up to 8192 products of both signs in any order"),
        4.0,
        lambda y, grad: np.asarray(y * (grad - (y * grad).sum(axis=1, keepdims=True))),
        """\
        float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j) total += y[i * cols + j] * grad[i * cols + j];
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = y[i * cols + j] * (grad[i * cols + j] - total);
""",
        whole_rows=True,
    ),
    _task(
        "kl_div_rows",
        "loss",
        "sum of q * (log q - log p) of each pair of rows",
        {"logp": "normal", "q": "positive"},
        _EXPONENTIALS,
        Tolerance(1e-4, 2e-3, "float32 sum of up to 8192 terms of both signs in any order, one logarithm each"),
        4.0,
        lambda logp, q: np.asarray((q * (np.log(q) - logp)).sum(axis=1)),
        """\
        float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j) total += q[i * cols + j] * (std::log(q[i * cols + j]) - logp[i * cols + j]);
        out[i] = total;
""",
    ),
    _task(
        "huber_rows",
        "loss",
        "mean Huber loss of each pair of rows: half the square up to 1, then linear",
        {"a": "normal", "b": "normal"},
        _PAIRS,
        Tolerance(1e-4, 1e-5, "a float32 running sum of 8192 positive terms is off by a few parts in a million"),
        6.0,
        _huber,
        """\
        float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {
            const float d = std::fabs(a[i * cols + j] - b[i * cols + j]);
            total += d <= 1.0f ? 0.5f * d * d : d - 0.5f;
        }
        out[i] = total / cols;
""",
    ),
)
