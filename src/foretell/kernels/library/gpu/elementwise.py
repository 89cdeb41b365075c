"""Elementwise family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 32768, "cols": 1008}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))

_BIAS_GELU = """\
import torch


def kernel(x, bias):
    return torch.nn.functional.gelu(x + bias, approximate="tanh")
"""

_SWIGLU = """\
import torch


def kernel(a, b):
    return torch.nn.functional.silu(a) * b
"""

_RELU_SQUARED_SCALE = """\
import torch


def kernel(x, scale):
    return torch.relu(x).square() * scale
"""

_AFFINE_CLAMP = """\
import torch


def kernel(x, scale, shift):
    return torch.clamp(x * scale + shift, -1.0, 1.0)
"""


def _task(
    name: str, summary: str, dtype: str, inputs: tuple[Tensor, ...], tolerance: Tolerance, flops: float, reference: str
) -> Task:
    return Task(
        name=name,
        family="elementwise",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=(Tensor("out", dtype, ("rows", "cols")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


def _matrix(name: str, dtype: str) -> Tensor:
    return Tensor(name, dtype, ("rows", "cols"))


TASKS = (
    _task(
        "bias_gelu",
        "v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3))) with v = x + bias",
        "float16",
        (_matrix("x", "float16"), Tensor("bias", "float16", ("cols",))),
        Tolerance(3e-3, 2e-3, "float16 sum and output; the form with erf differs by 5e-4 and is as good"),
        12,
        _BIAS_GELU,
    ),
    _task(
        "swiglu",
        "a * sigmoid(a) * b",
        "bfloat16",
        (_matrix("a", "bfloat16"), _matrix("b", "bfloat16")),
        Tolerance(2e-2, 1e-3, "bfloat16 output (8 bits), and perhaps a bfloat16 value in between"),
        6,
        _SWIGLU,
    ),
    _task(
        "relu_squared_scale",
        "max(x, 0)^2 * scale, with a scale for each column",
        "float16",
        (_matrix("x", "float16"), Tensor("scale", "float16", ("cols",), fill="positive")),
        Tolerance(3e-3, 1e-4, "float16 output, and perhaps a float16 square in between"),
        3,
        _RELU_SQUARED_SCALE,
    ),
    _task(
        "affine_clamp",
        "x * scale + shift, held between -1 and 1, with a scale and a shift for each column",
        "float32",
        (
            _matrix("x", "float32"),
            Tensor("scale", "float32", ("cols",), fill="positive"),
            Tensor("shift", "float32", ("cols",)),
        ),
        Tolerance(1e-5, 2e-6, "one or two float32 roundings of numbers near 1"),
        4,
        _AFFINE_CLAMP,
    ),
)
