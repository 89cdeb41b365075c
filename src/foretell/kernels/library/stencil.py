"""Stencil family: each point of a plane from its neighbours, once or in steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Oracle, Sizes, Task, Tensor, Tolerance, Workload


def _stencil5(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    grid = arrays["x"].astype(np.float64)
    around = np.empty_like(grid[1:-1, 1:-1])
    for _ in range(sizes["steps"]):
        np.add(grid[:-2, 1:-1], grid[2:, 1:-1], out=around)
        around += grid[1:-1, :-2]
        around += grid[1:-1, 2:]
        around *= 0.1
        grid[1:-1, 1:-1] *= 0.6
        grid[1:-1, 1:-1] += around
    return (grid,)


STENCIL5_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t height, int64_t width, int64_t steps) {
    float* grid = new float[height * width];
    for (int64_t i = 0; i < height * width; ++i) grid[i] = x[i];
    for (int64_t t = 0; t < steps; ++t) {
        for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < width; ++j) {
                if (i == 0 || j == 0 || i == height - 1 || j == width - 1)
                    out[i * width + j] = grid[i * width + j];
                else
                    out[i * width + j] = 0.6f * grid[i * width + j] +
                                         0.1f * (grid[(i - 1) * width + j] + grid[(i + 1) * width + j] +
                                                 grid[i * width + j - 1] + grid[i * width + j + 1]);
            }
        for (int64_t i = 0; i < height * width; ++i) grid[i] = out[i];
    }
    delete[] grid;
}
"""


def _stencil9(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    out = x.copy()
    straight = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    corners = x[:-2, :-2] + x[:-2, 2:] + x[2:, :-2] + x[2:, 2:]
    out[1:-1, 1:-1] = 0.4 * x[1:-1, 1:-1] + 0.1 * straight + 0.05 * corners
    return (out,)


def _sobel(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    down, across = x[2:] - x[:-2], x[:, 2:] - x[:, :-2]
    dy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    dx = across[:-2] + 2 * across[1:-1] + across[2:]
    return (np.pad(np.hypot(dx, dy), 1),)


def _jacobi_source(arrays: Arrays, _: Sizes) -> tuple[NDArray[Any], ...]:
    x = arrays["x"].astype(np.float64)
    out = x.copy()
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    out[1:-1, 1:-1] = 0.25 * (around + 0.01 * arrays["source"][1:-1, 1:-1])
    return (out,)


_ONCE_CPP = """\
#include <cmath>
#include <cstdint>

extern "C" void kernel({inputs}, float* out, int64_t height, int64_t width) {{
    for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {{
            const int64_t p = i * width + j;
            if (i == 0 || j == 0 || i == height - 1 || j == width - 1) {{
                out[p] = {rim};
                continue;
            }}
            {body}
        }}
}}
"""

_STENCIL9_BODY = """\
float straight = x[p - width] + x[p + width] + x[p - 1] + x[p + 1];
            float corners = x[p - width - 1] + x[p - width + 1] + x[p + width - 1] + x[p + width + 1];
            out[p] = 0.4f * x[p] + 0.1f * straight + 0.05f * corners;"""

_SOBEL_BODY = """\
float dy = x[p + width - 1] - x[p - width - 1] + 2.0f * (x[p + width] - x[p - width]) +
                       x[p + width + 1] - x[p - width + 1];
            float dx = x[p - width + 1] - x[p - width - 1] + 2.0f * (x[p + 1] - x[p - 1]) +
                       x[p + width + 1] - x[p + width - 1];
            out[p] = std::sqrt(dx * dx + dy * dy);"""

_JACOBI_BODY = """\
float around = x[p - width] + x[p + width] + x[p - 1] + x[p + 1];
            out[p] = 0.25f * (around + 0.01f * source[p]);"""


def _plane(height: int, width: int, steps: int) -> Workload:
    return Workload({"height": height, "width": width, "steps": steps})


def _once(
    name: str,
    summary: str,
    operations: int,
    tolerance: Tolerance,
    oracle: Oracle,
    rim: str,
    body: str,
    inputs: tuple[str, ...] = ("x",),
) -> Task:
    """A stencil applied once: `rim` is a point on the border, `body` sets `out[p]` anywhere else."""
    sizes = ("height", "width")
    given = ", ".join(f"const float* {tensor}" for tensor in inputs)
    return Task(
        name=name,
        family="stencil",
        summary=summary,
        sizes=sizes,
        inputs=tuple(Tensor(tensor, "float32", sizes) for tensor in inputs),
        outputs=(Tensor("out", "float32", sizes),),
        workloads=(Workload({"height": 1400, "width": 1200}), Workload({"height": 7000, "width": 240})),
        extra=(Workload({"height": 37, "width": 141}), Workload({"height": 5, "width": 9})),
        tolerance=tolerance,
        flops=lambda s: float(operations * s["height"] * s["width"]),
        oracle=oracle,
        references={"cpp": _ONCE_CPP.format(inputs=given, rim=rim, body=body)},
    )


TASKS = (
    Task(
        name="stencil5",
        family="stencil",
        summary="steps of 0.6 centre + 0.1 of each of the four neighbours; points on the border stay as they are",
        sizes=("height", "width", "steps"),
        inputs=(Tensor("x", "float32", ("height", "width")),),
        outputs=(Tensor("out", "float32", ("height", "width")),),
        workloads=(_plane(1000, 1000, 1), _plane(256, 384, 20), _plane(40, 9000, 5)),
        extra=(_plane(1, 1, 1), _plane(2, 9, 2), _plane(7, 3, 4), _plane(61, 131, 5)),
        tolerance=Tolerance(1e-5, 1e-5, "up to 20 float32 steps, each a weighted mean that rounds a few times"),
        flops=lambda s: 6.0 * s["height"] * s["width"] * s["steps"],
        oracle=_stencil5,
        references={"cpp": STENCIL5_CPP},
    ),
    _once(
        "stencil9",
        "0.4 centre + 0.1 of each straight neighbour + 0.05 of each corner; points on the border stay as they are",
        11,
        Tolerance(1e-5, 2e-6, "nine float32 products of numbers near 1 added in any order"),
        _stencil9,
        "x[p]",
        _STENCIL9_BODY,
    ),
    _once(
        "sobel",
        "root of the squared Sobel gradients of each point; zero on the border",
        15,
        Tolerance(2e-5, 2e-5, "float32 gradients of numbers near 1, where terms cancel, and perhaps a root by steps"),
        _sobel,
        "0.0f",
        _SOBEL_BODY,
    ),
    _once(
        "jacobi_source",
        "a quarter of the four neighbours plus 0.01 of the source; points on the border stay as they are",
        6,
        Tolerance(1e-5, 2e-6, "six float32 operations on numbers near 1"),
        _jacobi_source,
        "x[p]",
        _JACOBI_BODY,
        ("x", "source"),
    ),
)
