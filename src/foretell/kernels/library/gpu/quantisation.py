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

_QUANTIZE_FP8_ROWS = """\
import torch


def kernel(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    top = wide.abs().amax(dim=1, keepdim=True)
    scales = torch.exp2(torch.frexp(top).exponent - 8.0).to(wide.dtype)
    return (wide / scales).to(torch.float8_e4m3fn).view(torch.uint8), scales[:, 0]
"""

_QUANTIZE_BLOCK = """\
import torch


def kernel(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32)).view(x.shape[0], -1, 128)
    top = wide.abs().amax(dim=2, keepdim=True)
    scales = torch.exp2(torch.frexp(top).exponent - 7.0).to(wide.dtype)
    levels = torch.floor(wide / scales + 0.5).clamp(max=127)
    return levels.to(torch.int8).view(x.shape), scales[:, :, 0]
"""

_DEQUANTIZE_BLOCK = """\
import torch


def kernel(levels, scales):
    blocks = levels.to(scales.dtype).view(levels.shape[0], -1, 128)
    return (blocks * scales[:, :, None]).view(levels.shape)
"""

_DEQUANTIZE_INT4 = """\
import torch


def kernel(packed, scales):
    pairs = torch.stack((packed & 15, packed >> 4), dim=2).to(scales.dtype) - 8
    groups = pairs.view(packed.shape[0], -1, 64)
    return (groups * scales[:, :, None]).view(packed.shape[0], -1)
"""

_QUANTIZE_DEQUANTIZE = """\
import torch


def kernel(x, exponents):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scales = torch.exp2(exponents - 5.0).to(wide.dtype)
    levels = torch.floor(wide / scales + 0.5).clamp(-128, 127)
    return (levels * scales).to(x.dtype)
"""


def _matrix(name: str, dtype: str, cols: str = "cols", fill: str = "normal") -> Tensor:
    return Tensor(name, dtype, ("rows", cols), fill=fill)


def _task(
    name: str,
    summary: str,
    reference: str,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    tolerance: Tolerance,
    work: float,
    shapes: tuple[tuple[int, int], ...],
) -> Task:
    cases = tuple(Workload({"rows": rows, "cols": cols}) for rows, cols in shapes)
    return Task(
        name=name,
        family="quantisation",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=outputs,
        workloads=cases[:2],
        extra=cases[2:],
        tolerance=tolerance,
        flops=lambda s: work * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


_EXACT = Tolerance(1e-6, 0.0, "powers of two are exact, and so is a half-precision number divided by one")
_ROUNDED = Tolerance(1e-3, 1e-4, "one float16 rounding")

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
    _task(
        "quantize_fp8_rows",
        "scale of a row = largest power of two <= max |x|, over 128; codes = bytes of x / scale in e4m3",
        _QUANTIZE_FP8_ROWS,
        (_matrix("x", "bfloat16"),),
        (_matrix("codes", "uint8"), Tensor("scales", "float32", ("rows",))),
        _EXACT,
        3.0,
        ((8192, 4096), (65536, 256), (37, 1040), (5, 336)),
    ),
    _task(
        "quantize_block_int8",
        "as quantize_int8, but with a scale for every 128 numbers of a row",
        _QUANTIZE_BLOCK,
        (_matrix("x", "bfloat16"),),
        (_matrix("levels", "int8"), _matrix("scales", "float32", "cols // 128")),
        _EXACT,
        4.0,
        ((4096, 8192), (98304, 128), (37, 384), (5, 640)),
    ),
    _task(
        "dequantize_block_int8",
        "out[i][j] = levels[i][j] * scales[i][j // 128]",
        _DEQUANTIZE_BLOCK,
        (_matrix("levels", "int8", fill="index:127"), _matrix("scales", "float16", "cols // 128", "positive")),
        (_matrix("out", "float16"),),
        _ROUNDED,
        1.0,
        ((4096, 8192), (98304, 128), (37, 384), (5, 640)),
    ),
    _task(
        "dequantize_int4",
        "out[i][j] = (nibble j of the row's bytes, low one first, - 8) * scales[i][j // 64]",
        _DEQUANTIZE_INT4,
        (_matrix("packed", "uint8", "cols // 2", "index:256"), _matrix("scales", "float16", "cols // 64", "positive")),
        (_matrix("out", "float16"),),
        _ROUNDED,
        2.0,
        ((4096, 8192), (16384, 1024), (37, 448), (5, 320)),
    ),
    _task(
        "quantize_dequantize",
        "with scale = 2^(exponent of the column - 5): clamp(floor(x / scale + 1/2), -128, 127) * scale",
        _QUANTIZE_DEQUANTIZE,
        (_matrix("x", "bfloat16", fill="wide"), Tensor("exponents", "int32", ("cols",), fill="index:8")),
        (_matrix("out", "bfloat16"),),
        _EXACT,
        5.0,
        ((4096, 8192), (65536, 256), (37, 1040), (5, 336)),
    ),
)
