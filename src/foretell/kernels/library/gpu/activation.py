"""Activation family on a GPU: pointwise functions and their derivatives."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))
_HALF = Tolerance(3e-3, 1e-3, "float16 output, and perhaps a float16 value in between")
_BRAIN = Tolerance(1e-2, 1e-3, "bfloat16 output (8 bits); a float32 formula in any form")
_SINGLE = Tolerance(1e-5, 1e-5, "float32 with fast exponentials, and differences of numbers near 1")


def _task(
    name: str,
    summary: str,
    dtype: str,
    matrices: tuple[str, ...],
    tolerance: Tolerance,
    flops: float,
    value: str,
    fill: str = "normal",
    along: tuple[str, ...] = (),
) -> Task:
    """`value` is the torch expression; `matrices` and vectors over columns, `along`, are the inputs."""
    rows = 8192 // len(matrices) // (2 if dtype == "float32" else 1)
    reference = f"import torch\n\n\ndef kernel({', '.join((*matrices, *along))}):\n    return {value}\n"
    return Task(
        name=name,
        family="activation",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(
            *(Tensor(matrix, dtype, ("rows", "cols"), fill=fill) for matrix in matrices),
            *(Tensor(vector, dtype, ("cols",)) for vector in along),
        ),
        outputs=(Tensor("out", dtype, ("rows", "cols")),),
        workloads=(Workload({"rows": rows, "cols": 4096}), Workload({"rows": 8 * rows, "cols": 336})),
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    _task("silu", "x * sigmoid(x)", "bfloat16", ("x",), _BRAIN, 5, "torch.nn.functional.silu(x)"),
    _task(
        "mish",
        "x * tanh(log(1 + exp(x))), for large x too",
        "float16",
        ("x",),
        _HALF,
        9,
        "torch.nn.functional.mish(x)",
        "wide",
    ),
    _task(
        "softplus",
        "log(1 + exp(x)), for large x too",
        "float32",
        ("x",),
        _SINGLE,
        6,
        "torch.nn.functional.softplus(x)",
        "wide",
    ),
    _task(
        "hardswish",
        "x * min(max(x + 3, 0), 6) / 6",
        "float16",
        ("x",),
        _HALF,
        5,
        "torch.nn.functional.hardswish(x)",
        "wide",
    ),
    _task("elu", "x where x > 0, else exp(x) - 1", "float32", ("x",), _SINGLE, 4, "torch.nn.functional.elu(x)"),
    _task("gelu_erf", "x / 2 * (1 + erf(x / sqrt(2)))", "bfloat16", ("x",), _BRAIN, 8, "torch.nn.functional.gelu(x)"),
    _task("tanh_gate", "tanh(a) * sigmoid(b)", "float16", ("a", "b"), _HALF, 9, "torch.tanh(a) * torch.sigmoid(b)"),
    _task(
        "silu_backward",
        "grad * s * (1 + x * (1 - s)) with s = sigmoid(x)",
        "bfloat16",
        ("grad", "x"),
        Tolerance(1e-2, 2e-3, "bfloat16 output (8 bits); near the root of the derivative terms cancel"),
        9,
        "torch.ops.aten.silu_backward(grad, x)",
    ),
    _task(
        "gelu_backward",
        "grad times the derivative of v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3))) at x",
        "float32",
        ("grad", "x"),
        _SINGLE,
        20,
        'torch.ops.aten.gelu_backward(grad, x, approximate="tanh")',
    ),
    _task(
        "leaky_relu_bias",
        "v where v > 0, else v / 10, with v = x + bias",
        "bfloat16",
        ("x",),
        Tolerance(1e-2, 1e-3, "bfloat16 output (8 bits), and perhaps a bfloat16 sum before"),
        4,
        "torch.nn.functional.leaky_relu(x + bias, 0.1)",
        along=("bias",),
    ),
)
