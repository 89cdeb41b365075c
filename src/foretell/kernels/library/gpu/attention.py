"""Attention family on a GPU."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload

_REASON = "float16 output and float16 weights before the second product, float32 sums in any order"
SHARED_BY = 4
WINDOW = 256
CAP = 4.0

_ATTENTION = """\
import torch


def kernel(q, k, v):
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    return torch.softmax(scores, dim=2) @ v
"""

_CAUSAL = """\
import torch


def kernel(q, k, v):
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    later = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -float("inf")), dim=2) @ v
"""

_GQA = f"""\
import torch


def kernel(q, k, v):
    k, v = (u.repeat_interleave({SHARED_BY}, dim=0) for u in (k, v))
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    return torch.softmax(scores, dim=2) @ v
"""

_WINDOW = f"""\
import torch


def kernel(q, k, v):
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    t = torch.arange(q.shape[1], device=q.device)
    back = t[:, None] - t
    return torch.softmax(scores.masked_fill((back < 0) | (back >= {WINDOW}), -float("inf")), dim=2) @ v
"""

_SOFTCAP = f"""\
import torch


def kernel(q, k, v):
    scores = q @ k.transpose(1, 2) * q.shape[2] ** -0.5
    return torch.softmax({CAP} * torch.tanh(scores / {CAP}), dim=2) @ v
"""

_ALIBI = """\
import torch


def kernel(q, k, v):
    heads, length, dim = q.shape
    scores = q @ k.transpose(1, 2) * dim**-0.5
    t = torch.arange(length, device=q.device)
    slopes = torch.exp2(-8 * torch.arange(1, heads + 1, device=q.device) / heads)
    back = t[:, None] - t
    bias = torch.where(back < 0, float("inf"), slopes[:, None, None] * back)
    wide = torch.promote_types(q.dtype, torch.float32)
    return torch.softmax(scores - bias.to(wide), dim=2).to(q.dtype) @ v
"""

_DECODE = """\
import torch


def kernel(q, k, v):
    scores = q[:, None, :] @ k.transpose(1, 2) * q.shape[1] ** -0.5
    return (torch.softmax(scores, dim=2) @ v)[:, 0]
"""


def _flops(s: Sizes) -> float:
    return 4.0 * s["heads"] * s["length"] * s["length"] * s["dim"]


def _window_flops(s: Sizes) -> float:
    """The first queries have fewer keys before them than a window holds."""
    width = min(WINDOW, s["length"])
    keys = width * s["length"] - width * (width - 1) // 2
    return 4.0 * s["heads"] * keys * s["dim"]


_SHAPE = ("heads", "length", "dim")
_LONG = (
    Workload({"heads": 64, "length": 2048, "dim": 64}),
    Workload({"heads": 32, "length": 2048, "dim": 128}),
)
_SHORT = (
    Workload({"heads": 32, "length": 2048, "dim": 64}),
    Workload({"heads": 64, "length": 1024, "dim": 128}),
)
_EXTRA = (Workload({"heads": 3, "length": 208, "dim": 64}), Workload({"heads": 2, "length": 37, "dim": 128}))


def _task(
    name: str,
    summary: str,
    flops: Callable[[Sizes], float],
    reference: str,
    workloads: tuple[Workload, ...] = _SHORT,
    extra: tuple[Workload, ...] = _EXTRA,
    query: tuple[str, ...] = _SHAPE,
    keys: tuple[str, ...] = _SHAPE,
) -> Task:
    return Task(
        name=name,
        family="attention",
        summary=summary,
        sizes=_SHAPE,
        inputs=(Tensor("q", "float16", query), Tensor("k", "float16", keys), Tensor("v", "float16", keys)),
        outputs=(Tensor("out", "float16", query),),
        workloads=workloads,
        extra=extra,
        tolerance=Tolerance(5e-3, 2e-3, _REASON),
        flops=flops,
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    _task("attention", "softmax(Q Kᵀ / √dim) V for each head, without a mask", _flops, _ATTENTION, _LONG),
    _task(
        "attention_causal",
        "softmax(Q Kᵀ / √dim) V for each head, over keys up to the query",
        lambda s: 0.5 * _flops(s),
        _CAUSAL,
        _LONG,
    ),
    _task(
        "attention_gqa",
        f"softmax(Q Kᵀ / √dim) V for each head, {SHARED_BY} heads in a row sharing one set of keys and values",
        _flops,
        _GQA,
        extra=(Workload({"heads": 4, "length": 208, "dim": 64}), Workload({"heads": 8, "length": 37, "dim": 128})),
        keys=(f"heads // {SHARED_BY}", "length", "dim"),
    ),
    _task(
        "attention_window",
        f"softmax(Q Kᵀ / √dim) V for each head, over the query's own key and the {WINDOW - 1} before it",
        _window_flops,
        _WINDOW,
        extra=(Workload({"heads": 2, "length": 500, "dim": 64}), Workload({"heads": 2, "length": 37, "dim": 128})),
    ),
    _task(
        "attention_softcap",
        f"softmax({CAP:g} tanh(Q Kᵀ / √dim / {CAP:g})) V for each head",
        _flops,
        _SOFTCAP,
    ),
    _task(
        "attention_alibi",
        "softmax(Q Kᵀ / √dim - 2^(-8 (head + 1) / heads) (query - key)) V for each head, over keys up to the query",
        lambda s: 0.5 * _flops(s),
        _ALIBI,
    ),
    _task(
        "attention_decode",
        "softmax(q Kᵀ / √dim) V for one query a head over all its keys",
        lambda s: 4.0 * s["heads"] * s["length"] * s["dim"],
        _DECODE,
        (Workload({"heads": 64, "length": 4096, "dim": 128}), Workload({"heads": 512, "length": 512, "dim": 64})),
        (Workload({"heads": 3, "length": 1000, "dim": 64}), Workload({"heads": 2, "length": 37, "dim": 128})),
        query=("heads", "dim"),
    ),
)
