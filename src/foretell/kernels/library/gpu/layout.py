"""Layout family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_ROTARY = """\
import torch


def kernel(x, cos, sin):
    near, far = x.chunk(2, dim=2)
    u, w = cos[:, None, :], sin[:, None, :]
    return torch.cat((near * u - far * w, far * u + near * w), dim=2)
"""

TASKS = (
    Task(
        name="transpose",
        family="layout",
        summary="out[j][i] = x[i][j] of a float32 matrix in row-major order",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols")),),
        outputs=(Tensor("out", "float32", ("cols", "rows")),),
        workloads=(Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 528})),
        extra=(Workload({"rows": 208, "cols": 1040}), Workload({"rows": 37, "cols": 48})),
        tolerance=Tolerance(0.0, 0.0, "a copy"),
        flops=lambda s: 0.0,
        oracle=None,
        references={"torch": "import torch\n\n\ndef kernel(x):\n    return x.t().contiguous()\n"},
    ),
    Task(
        name="rotary",
        family="layout",
        summary="each head's two halves turned by the token's angles: (a cos - b sin, b cos + a sin)",
        sizes=("tokens", "heads", "dim"),
        inputs=(
            Tensor("x", "float16", ("tokens", "heads", "dim")),
            Tensor("cos", "float16", ("tokens", "dim // 2")),
            Tensor("sin", "float16", ("tokens", "dim // 2")),
        ),
        outputs=(Tensor("out", "float16", ("tokens", "heads", "dim")),),
        workloads=(
            Workload({"tokens": 16384, "heads": 32, "dim": 128}),
            Workload({"tokens": 16384, "heads": 16, "dim": 64}),
        ),
        extra=(Workload({"tokens": 37, "heads": 3, "dim": 128}), Workload({"tokens": 5, "heads": 3, "dim": 32})),
        tolerance=Tolerance(3e-3, 8e-3, "float16 output, and perhaps float16 products of numbers up to 5 before a sum"),
        flops=lambda s: 3.0 * s["tokens"] * s["heads"] * s["dim"],
        oracle=None,
        references={"torch": _ROTARY},
    ),
)
