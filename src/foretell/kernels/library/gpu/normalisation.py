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

_ADD_LAYERNORM = """\
import torch


def kernel(x, residual, gamma, beta):
    kept = x + residual
    return torch.nn.functional.layer_norm(kept, (x.shape[1],), gamma, beta, 1e-5), kept
"""

_RMSNORM_SILU_GATE = """\
import torch


def kernel(x, z, gamma):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + 1e-5)
    return (wide * scale * gamma * torch.nn.functional.silu(z.to(wide.dtype))).to(x.dtype)
"""

_L2_NORMALISE = """\
import torch


def kernel(x):
    return torch.nn.functional.normalize(x, dim=1)
"""

_RMSNORM_BACKWARD = """\
import torch


def kernel(x, dy, gamma):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + 1e-5)
    unit = wide * scale
    slope = dy * gamma.to(wide.dtype)
    return (scale * (slope - unit * (slope * unit).mean(dim=1, keepdim=True))).to(x.dtype)
"""

_LAYERNORM_BACKWARD = """\
import torch


def kernel(x, dy, gamma):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    variance, mean = torch.var_mean(wide, dim=1, correction=0, keepdim=True)
    scale = torch.rsqrt(variance + 1e-5)
    unit = (wide - mean) * scale
    slope = dy * gamma.to(wide.dtype)
    along = (slope * unit).mean(dim=1, keepdim=True)
    return (scale * (slope - slope.mean(dim=1, keepdim=True) - unit * along)).to(x.dtype)
"""

_GROUPNORM = """\
import torch


def kernel(x, gamma, beta):
    return torch.nn.functional.group_norm(x, 32, gamma, beta, 1e-5)
"""

_INSTANCENORM = """\
import torch


def kernel(x, gamma, beta):
    return torch.nn.functional.instance_norm(x, None, None, gamma, beta, True, 0.0, 1e-5)
"""

_BATCHNORM_INFERENCE = """\
import torch


def kernel(x, mean, variance, gamma, beta):
    return torch.nn.functional.batch_norm(x, mean, variance, gamma, beta, False, 0.0, 1e-5)
"""

_BATCHNORM_TRAINING = """\
import torch


def kernel(x, gamma, beta):
    return torch.native_batch_norm(x, gamma, beta, None, None, True, 0.0, 1e-5)
"""


def _matrix(name: str, dtype: str, fill: str = "normal") -> Tensor:
    return Tensor(name, dtype, ("rows", "cols"), fill=fill)


def _by_row(
    name: str,
    summary: str,
    reference: str,
    dtype: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    tolerance: Tolerance,
    work: float,
    along: tuple[str, ...] = (),
    fill: str = "normal",
    shapes: tuple[tuple[int, int], ...] = ((4096, 4096), (32768, 512)),
) -> Task:
    """A task on matrices `inputs` of one dtype and vectors `along` their columns."""
    vectors = tuple(Tensor(v, dtype, ("cols",), fill="positive" if v == "gamma" else "normal") for v in along)
    return Task(
        name=name,
        family="normalisation",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(*(_matrix(each, dtype, fill) for each in inputs), *vectors),
        outputs=tuple(_matrix(each, dtype) for each in outputs),
        workloads=tuple(Workload({"rows": rows, "cols": cols}) for rows, cols in shapes),
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: work * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


def _by_channel(
    name: str,
    summary: str,
    reference: str,
    dtype: str,
    along: tuple[str, ...],
    tolerance: Tolerance,
    work: float,
    shapes: tuple[tuple[int, int, int], ...],
    further: tuple[str, ...] = (),
) -> Task:
    """A task on an image batch `x` (n, c, hw), vectors `along` and outputs `further` over its channels."""
    positive = ("gamma", "variance")
    cases = tuple(Workload({"n": n, "c": c, "hw": hw}) for n, c, hw in shapes)
    return Task(
        name=name,
        family="normalisation",
        summary=summary,
        sizes=("n", "c", "hw"),
        inputs=(
            Tensor("x", dtype, ("n", "c", "hw"), fill="uniform"),
            *(Tensor(v, dtype, ("c",), fill="positive" if v in positive else "normal") for v in along),
        ),
        outputs=(Tensor("out", dtype, ("n", "c", "hw")), *(Tensor(each, dtype, ("c",)) for each in further)),
        workloads=cases[:2],
        extra=cases[2:],
        tolerance=tolerance,
        flops=lambda s: work * s["n"] * s["c"] * s["hw"],
        oracle=None,
        references={"torch": reference},
    )


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
    _by_row(
        "add_layernorm",
        "s = x + residual; (s - mean) / sqrt(variance + 1e-5) * gamma + beta of each row, and s itself",
        _ADD_LAYERNORM,
        "float16",
        ("x", "residual"),
        ("out", "kept"),
        Tolerance(4e-3, 6e-3, _HALF + "; the sum may be rounded before it is normalised"),
        9.0,
        along=("gamma", "beta"),
        fill="uniform",
    ),
    _by_row(
        "rmsnorm_silu_gate",
        "x / sqrt(mean square + 1e-5) * gamma * z * sigmoid(z) of each row",
        _RMSNORM_SILU_GATE,
        "bfloat16",
        ("x", "z"),
        ("out",),
        Tolerance(1e-2, 1e-3, _BRAIN),
        10.0,
        along=("gamma",),
    ),
    _by_row(
        "l2_normalise",
        "x / max(sqrt(sum of squares), 1e-12) of each row",
        _L2_NORMALISE,
        "float32",
        ("x",),
        ("out",),
        Tolerance(2e-5, 1e-7, "float32 sum of squares in any order, one root and one division"),
        3.0,
        fill="wide",
        shapes=((4096, 2048), (131072, 64)),
    ),
    _by_row(
        "rmsnorm_backward",
        "gradient of rmsnorm (epsilon 1e-5) in x: scale * (dy gamma - unit * mean(dy gamma unit)), unit = x * scale",
        _RMSNORM_BACKWARD,
        "bfloat16",
        ("x", "dy"),
        ("dx",),
        Tolerance(1e-2, 2e-3, "bfloat16 output (8 bits), float32 sums in any order and one cancellation"),
        9.0,
        along=("gamma",),
    ),
    _by_row(
        "layernorm_backward",
        "gradient of layernorm (epsilon 1e-5) in x, from dy, x and gamma; mean and deviation are computed anew",
        _LAYERNORM_BACKWARD,
        "float16",
        ("x", "dy"),
        ("dx",),
        Tolerance(2e-3, 2e-3, _HALF + ", one cancellation"),
        14.0,
        along=("gamma",),
    ),
    _by_channel(
        "groupnorm",
        "(x - mean) / sqrt(variance + 1e-5) over each of 32 groups of channels, * gamma + beta of the channel",
        _GROUPNORM,
        "float16",
        ("gamma", "beta"),
        Tolerance(2e-3, 3e-3, _HALF),
        8.0,
        ((32, 128, 4096), (256, 256, 256), (5, 96, 49), (3, 64, 84)),
    ),
    _by_channel(
        "instancenorm",
        "(x - mean) / sqrt(variance + 1e-5) over each channel of each image, * gamma + beta of the channel",
        _INSTANCENORM,
        "bfloat16",
        ("gamma", "beta"),
        Tolerance(1e-2, 1e-2, "bfloat16 output (8 bits), float32 moments in any order"),
        8.0,
        ((16, 256, 4096), (64, 1024, 256), (3, 20, 196), (2, 7, 150)),
    ),
    _by_channel(
        "batchnorm_inference",
        "(x - mean) / sqrt(variance + 1e-5) * gamma + beta with given moments of each channel",
        _BATCHNORM_INFERENCE,
        "float32",
        ("mean", "variance", "gamma", "beta"),
        Tolerance(1e-5, 1e-5, "half a dozen float32 roundings of numbers near 1, one root"),
        4.0,
        ((32, 128, 2048), (512, 256, 64), (3, 20, 196), (5, 7, 49)),
    ),
    _by_channel(
        "batchnorm_training",
        "(x - mean) / sqrt(variance + 1e-5) * gamma + beta with the channel's own moments; mean and inverse root too",
        _BATCHNORM_TRAINING,
        "float32",
        ("gamma", "beta"),
        Tolerance(1e-4, 1e-4, "float32 moments of up to 131072 numbers in any order, in one pass or two"),
        8.0,
        ((16, 64, 8192), (128, 512, 128), (3, 20, 196), (5, 7, 49)),
        further=("mean", "scale"),
    ),
)
