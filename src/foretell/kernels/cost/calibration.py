"""A GPU's own numbers instead of its data sheet's: the description whose forecasts fit about 100 measured calls best.

Four rates are fitted: memory bandwidth, plain float32, tensor cores, and cycles (clock). Each is the data sheet's times
a factor, so that constants that were set with data sheets keep their meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.cost import calls
from foretell.kernels.cost.settings import CALIBRATION
from foretell.kernels.device import Device
from foretell.kernels.program import LibraryCall

Array = NDArray[np.float64]
Call = tuple[str, list[Any]]
RATES = ("bandwidth", "float32", "tensor cores", "clock")
MARK = "calibrated"  # in the toolchain of a device that was


@dataclass(frozen=True)
class Calibration:
    """A device with fitted rates, the factors by which they differ from the description it started from, and the
    median error of the measured calls' times before and after."""

    device: Device
    factors: dict[str, float]
    calls: int
    error_before: float
    error_after: float


def is_calibrated(device: Device) -> bool:
    return device.toolchain.endswith(MARK)


def calibrated(device: Device, measured: Sequence[tuple[LibraryCall, float]]) -> Calibration:
    """Fit the rates of a device to measured calls (microseconds), by damped least squares that distrusts outliers.

    Raises ValueError if fewer calls than rates were measured.
    """
    if len(measured) < len(RATES):
        raise ValueError(f"{len(measured)} measured calls are too few for {len(RATES)} rates")
    times = np.log2([us for _, us in measured])
    one_call = [call for call, _ in measured]

    def off(log2: Array) -> Array:
        there = scaled(device, log2)
        return np.log2([calls.time_of(call, there).us for call in one_call]) - times

    log2 = np.zeros(len(RATES))
    errors = before = off(log2)
    for _ in range(CALIBRATION.iterations):
        # From both sides: a call's time may be the larger of two, and then one side is flat.
        ends = [(off(log2 + step), off(log2 - step)) for step in CALIBRATION.step * np.eye(len(RATES))]
        slopes = np.stack([above - below for above, below in ends], axis=1) / (2.0 * CALIBRATION.step)
        weights = 1.0 / np.maximum(np.abs(errors), CALIBRATION.usual_log2)  # an outlier pulls no more than that
        normal = (slopes.T * weights) @ slopes + CALIBRATION.ridge * np.eye(len(RATES))
        log2 = log2 - np.linalg.solve(normal, (slopes.T * weights) @ errors + CALIBRATION.ridge * log2)
        log2 = np.clip(log2, -CALIBRATION.most_log2, CALIBRATION.most_log2)
        errors = off(log2)
    factors = {name: float(2.0**value) for name, value in zip(RATES, log2, strict=True)}
    found = scaled(device, log2)
    marked = replace(found, toolchain=f"{device.toolchain.removesuffix(', described')}, {MARK}")
    return Calibration(marked, factors, len(times), _median_error(before), _median_error(errors))


def scaled(device: Device, log2: Array) -> Device:
    """The device with its rates changed by powers of two, in the order of `RATES`."""
    bandwidth, plain, tensor, clock = (float(2.0**value) for value in log2)
    peaks = {dtype: rate * (plain if dtype == "float32" else tensor) for dtype, rate in device.peak_flops.items()}
    return replace(
        device,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s * bandwidth,
        peak_flops=peaks,
        clock_hz=device.clock_hz * clock,
    )


def _median_error(log2: Array) -> float:
    return float(np.median(np.abs(np.exp2(log2) - 1.0)))


def calibration_calls() -> Iterator[Call]:
    """Calls that lean on one rate each, over the sizes that programs use; the large ones are the microbenchmarks."""
    for dtype in ("float32", "float16"):
        for log2 in (12, 16, 20, 22, 24, 26, 28):
            yield "aten::clone", [_tensor([1 << log2], dtype)]
        for log2 in (18, 22, 25, 27):
            shape = [1 << (log2 - 10), 1 << 10]
            yield "aten::relu", [_tensor(shape, dtype)]
            yield "aten::add.Tensor", [_tensor(shape, dtype), _tensor(shape, dtype)]
            yield "aten::sum.dim_IntList", [_tensor(shape, dtype), [1], False]
            yield "aten::_softmax", [_tensor(shape, dtype), -1, False]
            weight = _tensor([shape[1]], dtype)
            yield "aten::native_layer_norm", [_tensor(shape, dtype), [shape[1]], weight, weight, 1e-5]
        for side in (256, 512, 1024, 2048, 4096, 8192):
            yield "aten::mm", [_tensor([side, side], dtype), _tensor([side, side], dtype)]
        for batch, side in ((16, 512), (64, 512), (128, 1024)):
            yield "aten::bmm", [_tensor([batch, side, side], dtype), _tensor([batch, side, side], dtype)]
        for rows in (1, 16, 128, 1024):
            yield "aten::addmm", [_tensor([4096], dtype), _tensor([rows, 4096], dtype), _tensor([4096, 4096], dtype)]
        for images, channels, side in ((16, 64, 56), (64, 64, 56), (32, 128, 28), (32, 256, 14), (8, 32, 224)):
            source, kernel = _tensor([images, channels, side, side], dtype), _tensor([channels, channels, 3, 3], dtype)
            yield "aten::convolution", [source, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1]
        for images, channels, side in ((16, 64, 112), (64, 64, 112), (128, 128, 56)):
            source = _tensor([images, channels, side, side], dtype)
            yield "aten::max_pool2d_with_indices", [source, [2, 2], [2, 2], [0, 0]]
            yield "aten::avg_pool2d", [source, [2, 2], [2, 2], [0, 0]]


def _tensor(shape: list[int], dtype: str) -> dict[str, Any]:
    return {"tensor": shape, "dtype": dtype, "fill": "normal"}
