"""Histogram family: how often each byte value occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Arrays, Sizes, Task, Tensor, Tolerance, Workload


def _histogram(arrays: Arrays, sizes: Sizes) -> tuple[NDArray[Any], ...]:
    return (np.bincount(arrays["values"], minlength=sizes["bins"]).astype(np.int32),)


HISTOGRAM_CPP = """\
#include <cstdint>

extern "C" void kernel(const uint8_t* values, int32_t* counts, int64_t count, int64_t bins) {
    for (int64_t b = 0; b < bins; ++b) counts[b] = 0;
    for (int64_t i = 0; i < count; ++i)
        if (values[i] < bins) counts[values[i]] += 1;
}
"""


def _draw(count: int, bins: int) -> Workload:
    return Workload({"count": count, "bins": bins})


TASKS = (
    Task(
        name="histogram",
        family="histogram",
        summary="counts[b] = number of values equal to b; every value is a byte below bins",
        sizes=("count", "bins"),
        inputs=(Tensor("values", "uint8", ("count",), fill="index:bins"),),
        outputs=(Tensor("counts", "int32", ("bins",)),),
        workloads=(_draw(3_000_000, 4), _draw(2_000_000, 256), _draw(2_500_000, 10)),
        extra=(_draw(1, 1), _draw(1009, 7), _draw(37, 251), _draw(40_961, 17)),
        tolerance=Tolerance(0.0, 0.0, "counts are whole numbers"),
        flops=lambda s: 1.0 * s["count"],
        oracle=_histogram,
        references={"cpp": HISTOGRAM_CPP},
    ),
)
