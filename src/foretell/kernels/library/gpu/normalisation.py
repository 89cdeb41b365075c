"""Normalisation family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 65536, "cols": 1024}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))
_HALF = "float16 output, float32 moments in any order"
_BRAIN = "bfloat16 output (8 bits), float32 mean square in any order"

_LAYERNORM = """\
import torch


def kernel(x, gamma, beta):
    return torch.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta, 1e-5)
"""

_RMSNORM = """\
import torch


def kernel(x, gamma):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + 1e-5)
    return (wide * scale * gamma).to(x.dtype)
"""

_ADD_RMSNORM = """\
import torch


def kernel(x, residual, gamma):
    kept = x + residual
    wide = kept.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + 1e-5)
    return (wide * scale * gamma).to(x.dtype), kept
"""


def _matrix(name: str, dtype: str, fill: str = "normal") -> Tensor:
    return Tensor(name, dtype, ("rows", "cols"), fill=fill)


TASKS = (
    Task(
        name="layernorm",
        family="normalisation",
        summary="(x - mean) / sqrt(variance + 1e-5) * gamma + beta of each row",
        sizes=("rows", "cols"),
        inputs=(
            _matrix("x", "float16", "uniform"),
            Tensor("gamma", "float16", ("cols",), fill="positive"),
            Tensor("beta", "float16", ("cols",)),
        ),
        outputs=(_matrix("out", "float16"),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(2e-3, 3e-3, _HALF),
        flops=lambda s: 8.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _LAYERNORM},
    ),
    Task(
        name="rmsnorm",
        family="normalisation",
        summary="x / sqrt(mean square + 1e-5) * gamma of each row",
        sizes=("rows", "cols"),
        inputs=(_matrix("x", "bfloat16", "wide"), Tensor("gamma", "bfloat16", ("cols",), fill="positive")),
        outputs=(_matrix("out", "bfloat16"),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(1e-2, 1e-3, _BRAIN),
        flops=lambda s: 4.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _RMSNORM},
    ),
    Task(
        name="add_rmsnorm",
        family="normalisation",
        summary="s = x + residual; s / sqrt(mean square of s + 1e-5) * gamma of each row, and s itself",
        sizes=("rows", "cols"),
        inputs=(
            _matrix("x", "bfloat16", "wide"),
            _matrix("residual", "bfloat16", "wide"),
            Tensor("gamma", "bfloat16", ("cols",), fill="positive"),
        ),
        outputs=(_matrix("out", "bfloat16"), _matrix("kept", "bfloat16")),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=Tolerance(2e-2, 2e-3, _BRAIN + "; the sum may be rounded before it is normalised"),
        flops=lambda s: 5.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _ADD_RMSNORM},
    ),
)
