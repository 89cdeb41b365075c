"""Quantisation family on a GPU: scales are powers of two, so that every level is exact and rounding leaves no doubt."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 131072, "cols": 512}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))

_QUANTIZE = """\
import torch


def kernel(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    top = wide.abs().amax(dim=1, keepdim=True)
    scales = torch.exp2(torch.frexp(top).exponent - 7.0).to(wide.dtype)
    levels = torch.floor(wide / scales + 0.5).clamp(max=127)
    return levels.to(torch.int8), scales[:, 0]
"""

_DEQUANTIZE = """\
import torch


def kernel(levels, scales):
    return levels.to(scales.dtype) * scales[:, None]
"""

TASKS = (
    Task(
        name="quantize_int8",
        family="quantisation",
        summary="scale of a row = largest power of two <= max |x|, over 64; levels = min(floor(x / scale + 1/2), 127)",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float16", ("rows", "cols")),),
        outputs=(Tensor("levels", "int8", ("rows", "cols")), Tensor("scales", "float32", ("rows",))),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(1e-6, 0.0, "powers of two are exact, and so is a float16 number divided by one"),
        flops=lambda s: 4.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _QUANTIZE},
    ),
    Task(
        name="dequantize_int8",
        family="quantisation",
        summary="out[i][j] = levels[i][j] * scales[i]",
        sizes=("rows", "cols"),
        inputs=(
            Tensor("levels", "int8", ("rows", "cols"), fill="index:127"),
            Tensor("scales", "float16", ("rows",), fill="positive"),
        ),
        outputs=(Tensor("out", "float16", ("rows", "cols")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(1e-3, 1e-4, "one float16 rounding"),
        flops=lambda s: 1.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _DEQUANTIZE},
    ),
)
