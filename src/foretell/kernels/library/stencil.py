"""Stencil family: steps of heat flow over a plane, each point moved towards its four neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload


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


def _plane(height: int, width: int, steps: int) -> Workload:
    return Workload({"height": height, "width": width, "steps": steps})


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
)
