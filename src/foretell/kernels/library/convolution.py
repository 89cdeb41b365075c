"""Convolution family: 3x3 filters over float32 images, zero beyond the border, output as large as the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload


def _conv2d(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    height, width = sizes["height"], sizes["width"]
    padded = np.pad(arrays["x"].astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    windows = np.stack([padded[:, r : r + height, s : s + width] for r in range(3) for s in range(3)], axis=1)
    weights = arrays["weights"].astype(np.float64).reshape(sizes["filters"], -1)
    return ((weights @ windows.reshape(weights.shape[1], -1)).reshape(sizes["filters"], height, width),)


def _depthwise_conv2d(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    height, width, channels = sizes["height"], sizes["width"], sizes["channels"]
    line = width * channels
    rows = np.pad(arrays["x"].astype(np.float64).reshape(height, line), ((1, 1), (channels, channels)))
    weights = np.tile(arrays["weights"].astype(np.float64), width)
    out = np.zeros((height, line))
    for r in range(3):
        for s in range(3):
            out += weights[r, s] * rows[r : r + height, s * channels : s * channels + line]
    return (out.reshape(height, width, channels),)


CONV2D_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, const float* weights, float* out, int64_t channels, int64_t filters,
                       int64_t height, int64_t width) {
    for (int64_t f = 0; f < filters; ++f)
        for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < width; ++j) {
                float sum = 0.0f;
                for (int64_t c = 0; c < channels; ++c)
                    for (int64_t r = 0; r < 3; ++r)
                        for (int64_t s = 0; s < 3; ++s) {
                            int64_t y = i + r - 1, z = j + s - 1;
                            if (y < 0 || y >= height || z < 0 || z >= width) continue;
                            sum += x[(c * height + y) * width + z] * weights[((f * channels + c) * 3 + r) * 3 + s];
                        }
                out[(f * height + i) * width + j] = sum;
            }
}
"""

DEPTHWISE_CONV2D_CPP = """\
#include <cstdint>

extern "C" void kernel(const float* x, const float* weights, float* out, int64_t height, int64_t width,
                       int64_t channels) {
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < width; ++j) {
                float sum = 0.0f;
                for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) {
                        int64_t y = i + r - 1, z = j + s - 1;
                        if (y < 0 || y >= height || z < 0 || z >= width) continue;
                        sum += x[(y * width + z) * channels + c] * weights[(r * 3 + s) * channels + c];
                    }
                out[(i * width + j) * channels + c] = sum;
            }
}
"""


def _planes(channels: int, filters: int, height: int, width: int) -> Workload:
    return Workload({"channels": channels, "filters": filters, "height": height, "width": width})


def _pixels(height: int, width: int, channels: int) -> Workload:
    return Workload({"height": height, "width": width, "channels": channels})


TASKS = (
    Task(
        name="conv2d",
        family="convolution",
        summary="3x3 convolution of a channels-first image with zero padding, stride 1",
        sizes=("channels", "filters", "height", "width"),
        inputs=(
            Tensor("x", "float32", ("channels", "height", "width")),
            Tensor("weights", "float32", ("filters", "channels", 3, 3)),
        ),
        outputs=(Tensor("out", "float32", ("filters", "height", "width")),),
        workloads=(_planes(8, 8, 56, 56), _planes(3, 16, 64, 80), _planes(32, 32, 14, 14), _planes(1, 6, 200, 251)),
        extra=(_planes(1, 1, 1, 1), _planes(2, 3, 5, 7), _planes(3, 5, 1, 37), _planes(5, 9, 19, 23)),
        tolerance=Tolerance(1e-4, 2e-4, "float32 sums of up to 288 products in any order, cancelling to near 0"),
        flops=lambda s: 18.0 * s["channels"] * s["filters"] * s["height"] * s["width"],
        oracle=_conv2d,
        references={"cpp": CONV2D_CPP},
    ),
    Task(
        name="depthwise_conv2d",
        family="convolution",
        summary="3x3 convolution of each channel of a channels-last image with its own filter, zero padding",
        sizes=("height", "width", "channels"),
        inputs=(
            Tensor("x", "float32", ("height", "width", "channels")),
            Tensor("weights", "float32", (3, 3, "channels")),
        ),
        outputs=(Tensor("out", "float32", ("height", "width", "channels")),),
        workloads=(_pixels(56, 56, 64), _pixels(14, 14, 1200), _pixels(240, 240, 8)),
        extra=(_pixels(1, 1, 1), _pixels(5, 7, 3), _pixels(1, 31, 17), _pixels(11, 2, 67)),
        tolerance=Tolerance(1e-5, 1e-5, "float32 sums of 9 products in any order, cancelling to near 0"),
        flops=lambda s: 18.0 * s["height"] * s["width"] * s["channels"],
        oracle=_depthwise_conv2d,
        references={"cpp": DEPTHWISE_CONV2D_CPP},
    ),
)
