"""Optimiser family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_ADAMW_STEP = """\
import torch


def kernel(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    step = (m / (1 - 0.9**10)) / (torch.sqrt(v / (1 - 0.999**10)) + 1e-8)
    return p * (1 - 0.1 * 0.1) - 0.1 * step, m, v
"""

_SGD_MOMENTUM_STEP = """\
import torch


def kernel(p, g, m):
    g = g + 0.01 * p
    m = 0.9 * m + g
    return p - 0.1 * (g + 0.9 * m), m
"""

_LION_STEP = """\
import torch


def kernel(p, g, m):
    wide = torch.promote_types(p.dtype, torch.float32)
    step = torch.sign(0.875 * m.to(wide) + 0.125 * g.to(wide))
    moved = p.to(wide) * (1 - 0.125 * 0.25) - 0.125 * step
    return moved.to(p.dtype), (0.96875 * m.to(wide) + 0.03125 * g.to(wide)).to(m.dtype)
"""

_ADAGRAD_STEP = """\
import torch


def kernel(p, g, h):
    h = h + g * g
    return p - 0.1 * g / (torch.sqrt(h) + 1e-10), h
"""

_RMSPROP_STEP = """\
import torch


def kernel(p, g, v):
    g = g.to(p.dtype)
    v = 0.99 * v + 0.01 * g * g
    return p - 0.1 * g / (torch.sqrt(v) + 1e-8), v
"""

_EMA_UPDATE = """\
import torch


def kernel(average, p):
    return 0.99 * average + 0.01 * p.to(average.dtype)
"""

_ROUNDINGS = "a few float32 roundings of numbers near 1, at most one division and one root"


def _vector(name: str, fill: str = "normal", dtype: str = "float32") -> Tensor:
    return Tensor(name, dtype, ("count",), fill=fill)


def _step(
    name: str,
    summary: str,
    reference: str,
    inputs: tuple[Tensor, ...],
    kept: tuple[str, ...],
    tolerance: Tolerance,
    work: float,
    counts: tuple[int, int],
) -> Task:
    """A step whose outputs are the inputs `kept`, renewed."""
    return Task(
        name=name,
        family="optimiser",
        summary=summary,
        sizes=("count",),
        inputs=inputs,
        outputs=tuple(Tensor(f"{each.name}_out", each.dtype, ("count",)) for each in inputs if each.name in kept),
        workloads=tuple(Workload({"count": count}) for count in counts),
        extra=(Workload({"count": 4720}), Workload({"count": 1003})),
        tolerance=tolerance,
        flops=lambda s: work * s["count"],
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    Task(
        name="adamw_step",
        family="optimiser",
        summary="tenth AdamW step: rate 0.1, decay 0.1, moments 0.9 and 0.999, epsilon 1e-8; new p, m and v",
        sizes=("count",),
        inputs=(_vector("p"), _vector("g"), _vector("m"), _vector("v", "positive")),
        outputs=(_vector("p_out"), _vector("m_out"), _vector("v_out")),
        workloads=(Workload({"count": 16 * 1024 * 1024}), Workload({"count": 3_000_000})),
        extra=(Workload({"count": 4720}), Workload({"count": 1003})),
        tolerance=Tolerance(1e-5, 2e-6, "a dozen float32 roundings of numbers near 1, one division and one root"),
        flops=lambda s: 15.0 * s["count"],
        oracle=None,
        references={"torch": _ADAMW_STEP},
    ),
    _step(
        "sgd_momentum_step",
        "Nesterov momentum step: rate 0.1, momentum 0.9, decay 0.01; new p and m",
        _SGD_MOMENTUM_STEP,
        (_vector("p"), _vector("g"), _vector("m")),
        ("p", "m"),
        Tolerance(1e-5, 2e-6, _ROUNDINGS),
        8.0,
        (7_000_000, 1_700_016),
    ),
    _step(
        "lion_step",
        "Lion step in bfloat16: rate 1/8, decay 1/4, moments 7/8 and 31/32 (no sign is in doubt); new p and m",
        _LION_STEP,
        tuple(_vector(name, dtype="bfloat16") for name in ("p", "g", "m")),
        ("p", "m"),
        Tolerance(1e-2, 1e-3, "one bfloat16 rounding (8 bits) of each result"),
        9.0,
        (14_000_000, 3_400_016),
    ),
    _step(
        "adagrad_step",
        "AdaGrad step: rate 0.1, epsilon 1e-10; new p and sum of squares h",
        _ADAGRAD_STEP,
        (_vector("p"), _vector("g"), _vector("h", "positive")),
        ("p", "h"),
        Tolerance(1e-5, 2e-6, _ROUNDINGS),
        7.0,
        (7_000_000, 1_700_016),
    ),
    _step(
        "rmsprop_step",
        "RMSprop step with bfloat16 gradients: rate 0.1, decay 0.99, epsilon 1e-8; new p and v",
        _RMSPROP_STEP,
        (_vector("p"), _vector("g", dtype="bfloat16"), _vector("v", "positive")),
        ("p", "v"),
        Tolerance(1e-5, 2e-6, _ROUNDINGS),
        9.0,
        (7_500_000, 1_900_016),
    ),
    _step(
        "ema_update",
        "average of parameters in float32: 0.99 average + 0.01 p, p in float16",
        _EMA_UPDATE,
        (_vector("average"), _vector("p", dtype="float16")),
        ("average",),
        Tolerance(1e-5, 2e-6, "three float32 roundings of numbers near 1"),
        3.0,
        (14_000_000, 3_500_016),
    ),
)
