"""Broadcast family on a GPU: tensors met by vectors, over rows, columns, channels or batches."""

from __future__ import annotations

import math

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_EXTRA = ((37, 1040), (5, 336))
_ROUNDED = "one or two roundings of the output's type"


def _task(
    name: str,
    summary: str,
    inputs: tuple[Tensor, ...],
    tolerance: tuple[float, float, str],
    flops: float,
    value: str,
    timed: tuple[tuple[int, ...], tuple[int, ...]],
    extra: tuple[tuple[int, ...], ...] = _EXTRA,
    shape: tuple[str, ...] = ("rows", "cols"),
) -> Task:
    """`value` is the torch expression; `timed` and `extra` are shapes of the output, which is like the first input."""

    def count(sizes: tuple[int, ...]) -> Workload:
        return Workload(dict(zip(shape, sizes, strict=True)))

    names = ", ".join(tensor.name for tensor in inputs)
    out = Tensor("out", inputs[0].dtype, shape)
    return Task(
        name=name,
        family="broadcast",
        summary=summary,
        sizes=shape,
        inputs=inputs,
        outputs=(out,),
        workloads=tuple(count(sizes) for sizes in timed),
        extra=tuple(count(sizes) for sizes in extra),
        tolerance=Tolerance(*tolerance),
        flops=lambda s: flops * math.prod(s.values()),
        oracle=None,
        references={"torch": f"import torch\n\n\ndef kernel({names}):\n    return {value}\n"},
    )


def _matrix(name: str, dtype: str) -> Tensor:
    return Tensor(name, dtype, ("rows", "cols"))


TASKS = (
    _task(
        "outer_sum",
        "out[i][j] = a[i] + b[j]",
        (Tensor("a", "float32", ("rows",)), Tensor("b", "float32", ("cols",))),
        (1e-6, 1e-6, _ROUNDED),
        1,
        "a[:, None] + b[None, :]",
        ((4096, 8192), (131072, 208)),
    ),
    _task(
        "row_column_scale",
        "out[i][j] = x[i][j] * r[i] * c[j]",
        (
            _matrix("x", "bfloat16"),
            Tensor("row_scale", "bfloat16", ("rows",), fill="positive"),
            Tensor("column_scale", "bfloat16", ("cols",), fill="positive"),
        ),
        (1.5e-2, 1e-4, "bfloat16 output (8 bits), and perhaps a bfloat16 product in between"),
        2,
        "x * row_scale[:, None] * column_scale",
        ((8192, 4096), (65536, 336)),
    ),
    _task(
        "add_bias_residual",
        "out[i][j] = x[i][j] + bias[j] + residual[i][j]",
        (_matrix("x", "float16"), _matrix("residual", "float16"), Tensor("bias", "float16", ("cols",))),
        (2e-3, 8e-3, "float16 output, and perhaps a float16 sum of numbers up to 8 in between"),
        2,
        "x + bias + residual",
        ((4096, 4096), (32768, 336)),
    ),
    _task(
        "channel_affine",
        "x * scale + shift, with a scale and a shift for each channel, before the area",
        (
            Tensor("x", "float16", ("images", "channels", "area")),
            Tensor("scale", "float16", ("channels",), fill="positive"),
            Tensor("shift", "float16", ("channels",)),
        ),
        (2e-3, 8e-3, "float16 output, and perhaps a float16 product of numbers up to 8 before the sum"),
        2,
        "x * scale[:, None] + shift[:, None]",
        ((64, 256, 1024), (128, 512, 196)),
        ((3, 37, 208), (2, 5, 196)),
        ("images", "channels", "area"),
    ),
    _task(
        "lerp_rows",
        "out[i][j] = a[i][j] + w[i] * (b[i][j] - a[i][j])",
        (_matrix("a", "float32"), _matrix("b", "float32"), Tensor("weight", "float32", ("rows",), fill="uniform")),
        (1e-5, 2e-6, "a few float32 roundings of numbers near 1, in either form"),
        3,
        "torch.lerp(a, b, weight[:, None])",
        ((4096, 2048), (32768, 336)),
    ),
    _task(
        "where_mask",
        "x where mask is not 0, else -1000, with one mask for all matrices of a batch",
        (
            Tensor("x", "float16", ("batch", "rows", "cols")),
            Tensor("mask", "uint8", ("rows", "cols"), fill="index:2"),
        ),
        (0.0, 0.0, "a copy or a constant"),
        0,
        "x.masked_fill(mask == 0, -1000.0)",
        ((16, 1024, 2048), (512, 80, 336)),
        ((3, 37, 208), (2, 5, 336)),
        ("batch", "rows", "cols"),
    ),
)
