"""Pooling family: each window of an image folded into one point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Oracle, Sizes, Task, Tensor, Tolerance, Workload, evaluate_size

_POOL_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t planes, int64_t height, int64_t width) {{
    const int64_t tall = {tall}, wide = {wide};
    for (int64_t p = 0; p < planes; ++p)
        for (int64_t i = 0; i < tall; ++i)
            for (int64_t j = 0; j < wide; ++j) {{
                float v = {start};
                for (int64_t a = {first}; a <= 1; ++a)
                    for (int64_t b = {first}; b <= 1; ++b) {{
                        int64_t r = 2 * i + a, c = 2 * j + b;
                        if (r < 0 || r >= height || c < 0 || c >= width) continue;
                        {step}
                    }}
                out[(p * tall + i) * wide + j] = {result};
            }}
}}
"""


def _max_pool2d(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    padded = np.pad(arrays["x"].astype(np.float64), ((0, 0), (1, 2), (1, 2)), constant_values=-np.inf)
    tall, wide = (sizes["height"] + 1) // 2, (sizes["width"] + 1) // 2
    shifted = [padded[:, a : a + 2 * tall : 2, b : b + 2 * wide : 2] for a in range(3) for b in range(3)]
    return (np.max(shifted, axis=0),)


def _avg_pool2d(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    tall, wide = sizes["height"] // 2, sizes["width"] // 2
    x = arrays["x"][:, : 2 * tall, : 2 * wide].astype(np.float64)
    return (x.reshape(-1, tall, 2, wide, 2).mean(axis=(2, 4)),)


def _images(*sizes: tuple[int, int, int]) -> tuple[Workload, ...]:
    return tuple(Workload(dict(zip(("planes", "height", "width"), size, strict=True))) for size in sizes)


def _pool(
    name: str,
    summary: str,
    made: tuple[str, ...],
    timed: tuple[Workload, ...],
    extra: tuple[Workload, ...],
    tolerance: Tolerance,
    window: int,
    oracle: Oracle,
    reference: str,
) -> Task:
    """A pool of `x` into `out` of shape `made`, with `window` inputs to an output."""

    def flops(sizes: Sizes) -> float:
        count = float(window)
        for dim in made:
            count *= evaluate_size(dim, sizes)
        return count

    return Task(
        name=name,
        family="pooling",
        summary=summary,
        sizes=("planes", "height", "width"),
        inputs=(Tensor("x", "float32", ("planes", "height", "width")),),
        outputs=(Tensor("out", "float32", made),),
        workloads=timed,
        extra=extra,
        tolerance=tolerance,
        flops=flops,
        oracle=oracle,
        references={"cpp": reference},
    )


TASKS = (
    _pool(
        "max_pool2d",
        "largest of each 3 x 3 window, stride 2, one row and column of padding",
        ("planes", "(height + 1) // 2", "(width + 1) // 2"),
        _images((128, 112, 112), (3, 768, 640)),
        _images((5, 37, 45), (3, 6, 19)),
        Tolerance(1e-6, 1e-6, "an extreme of the inputs is one of them"),
        9,
        _max_pool2d,
        _POOL_CPP.format(
            tall="(height + 1) / 2",
            wide="(width + 1) / 2",
            start="-INFINITY",
            first="-1",
            step="if (x[(p * height + r) * width + c] > v) v = x[(p * height + r) * width + c];",
            result="v",
        ),
    ),
    _pool(
        "avg_pool2d",
        "mean of each 2 x 2 window, stride 2",
        ("planes", "height // 2", "width // 2"),
        _images((224, 96, 96), (4, 640, 768)),
        _images((5, 37, 45), (3, 6, 19)),
        Tolerance(1e-5, 1e-6, "four float32 numbers near 1 added in any order"),
        4,
        _avg_pool2d,
        _POOL_CPP.format(
            tall="height / 2",
            wide="width / 2",
            start="0.0f",
            first="0",
            step="v += x[(p * height + r) * width + c];",
            result="v / 4.0f",
        ),
    ),
)
