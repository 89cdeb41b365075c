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

_GEGLU = """\
import torch


def kernel(x):
    a, b = x.chunk(2, dim=1)
    return torch.nn.functional.gelu(a, approximate="tanh") * b
"""

_MUL_ADD_EXP = """\
import torch


def kernel(x, y, z):
    return torch.exp(torch.clamp(x * y + z, -4.0, 4.0))
"""

_MASKED_RESIDUAL = """\
import torch


def kernel(x, keep, residual):
    return residual + x * keep * 1.25
"""


def _task(
    name: str,
    summary: str,
    dtype: str,
    inputs: tuple[Tensor, ...],
    tolerance: Tolerance,
    flops: float,
    reference: str,
    workloads: tuple[Workload, ...] = _WORKLOADS,
) -> Task:
    return Task(
        name=name,
        family="elementwise",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=(Tensor("out", dtype, ("rows", "cols")),),
        workloads=workloads,
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
        13,
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
    _task(
        "geglu",
        "gelu(a) * b, gelu in its form with tanh, where a and b are the left and the right half of each row",
        "float16",
        (Tensor("x", "float16", ("rows", "2 * cols")),),
        Tolerance(
            3e-3, 5e-3, "float16 output, perhaps a float16 gelu; the form with erf differs by 5e-4, times b up to 6"
        ),
        13,
        _GEGLU,
        (Workload({"rows": 8192, "cols": 2048}), Workload({"rows": 32768, "cols": 336})),
    ),
    _task(
        "mul_add_exp",
        "exp(x * y + z), the exponent held between -4 and 4",
        "float32",
        (_matrix("x", "float32"), _matrix("y", "float32"), _matrix("z", "float32")),
        Tolerance(2e-5, 1e-6, "float32 exponents of up to 4, rounded once or twice; a fast exponential"),
        5,
        _MUL_ADD_EXP,
        (Workload({"rows": 4096, "cols": 2048}), Workload({"rows": 32768, "cols": 208})),
    ),
    _task(
        "masked_residual",
        "residual + x * keep * 1.25, where keep is 0 or 1",
        "bfloat16",
        (
            _matrix("x", "bfloat16"),
            Tensor("keep", "uint8", ("rows", "cols"), fill="index:2"),
            _matrix("residual", "bfloat16"),
        ),
        Tolerance(
            1e-2, 4e-2, "bfloat16 output (8 bits), and perhaps a bfloat16 product of numbers up to 6 before the sum"
        ),
        3,
        _MASKED_RESIDUAL,
        (Workload({"rows": 4096, "cols": 4096}), Workload({"rows": 32768, "cols": 336})),
    ),
)
