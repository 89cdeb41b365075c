"""Recurrence family on a GPU: states carried along time."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

CHUNK = 64
KEEP = 0.9

_LINEAR = """\
import torch


def kernel(a, x):
    step = 1
    while step < x.shape[1]:
        x = torch.cat((x[:, :step], torch.addcmul(x[:, step:], a[:, step:], x[:, :-step])), dim=1)
        a = torch.cat((a[:, :step], a[:, step:] * a[:, :-step]), dim=1)
        step *= 2
    return x
"""

_EMA = """\
import torch


def kernel(x):
    rows, cols = x.shape
    t = torch.arange(16, device=x.device)
    c = torch.arange(cols // 16, device=x.device)
    within = torch.tril(0.9 ** (t[:, None] - t).clamp(min=0)).to(x.dtype)
    across = torch.tril(0.9 ** (16 * (c[:, None] - c - 1).clamp(min=0)), -1).to(x.dtype)
    parts = 0.1 * x.view(rows, cols // 16, 16) @ within.t()
    carried = parts[:, :, 15] @ across.t()
    return (parts + carried[:, :, None] * 0.9 ** (t + 1).to(x.dtype)).view(rows, cols)
"""

_CHUNKED = f"""\
import torch


def kernel(q, k, v):
    heads, length, dim = q.shape
    q, k, v = (u.view(heads, length // {CHUNK}, {CHUNK}, dim) for u in (q, k, v))
    scores = torch.tril(q @ k.transpose(2, 3) * (1 / dim))
    return (scores @ v).view(heads, length, dim)
"""

_SEQUENCE = ("batch", "time", "channels")
_HEADS = ("heads", "length", "dim")

TASKS = (
    Task(
        name="linear_recurrence",
        family="recurrence",
        summary="h[t] = a[t] * h[t - 1] + x[t] along time, for every channel",
        sizes=_SEQUENCE,
        inputs=(Tensor("a", "float32", _SEQUENCE, fill="uniform"), Tensor("x", "float32", _SEQUENCE)),
        outputs=(Tensor("out", "float32", _SEQUENCE),),
        workloads=(
            Workload({"batch": 8, "time": 512, "channels": 1024}),
            Workload({"batch": 128, "time": 64, "channels": 512}),
        ),
        extra=(
            Workload({"batch": 3, "time": 70, "channels": 208}),
            Workload({"batch": 2, "time": 37, "channels": 48}),
        ),
        tolerance=Tolerance(1e-4, 2e-5, "float32 states that forget quickly, in any grouping"),
        flops=lambda s: 2.0 * s["batch"] * s["time"] * s["channels"],
        oracle=None,
        references={"torch": _LINEAR},
    ),
    Task(
        name="ema_rows",
        family="recurrence",
        summary="y[t] = 0.9 * y[t - 1] + 0.1 * x[t] along each row, from y = 0",
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols")),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=(Workload({"rows": 8192, "cols": 2048}), Workload({"rows": 65536, "cols": 256})),
        extra=(Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336})),
        tolerance=Tolerance(1e-4, 1e-5, "float32 states that forget quickly, in any grouping"),
        flops=lambda s: 2.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": _EMA},
    ),
    Task(
        name="linear_attention_chunk",
        family="recurrence",
        summary=f"out[t] = sum of (q[t] . k[s] / dim) v[s] over s <= t in the same chunk of {CHUNK}, for each head",
        sizes=_HEADS,
        inputs=tuple(Tensor(name, "float16", _HEADS) for name in ("q", "k", "v")),
        outputs=(Tensor("out", "float16", _HEADS),),
        workloads=(
            Workload({"heads": 64, "length": 2048, "dim": 64}),
            Workload({"heads": 16, "length": 4096, "dim": 128}),
        ),
        extra=(Workload({"heads": 3, "length": 192, "dim": 64}), Workload({"heads": 1, "length": 64, "dim": 128})),
        tolerance=Tolerance(5e-3, 3e-3, "float16 output and float16 weights before the second product"),
        flops=lambda s: 2.0 * CHUNK * s["heads"] * s["length"] * s["dim"],
        oracle=None,
        references={"torch": _CHUNKED},
    ),
)
