"""Triangle family on a GPU: products over the third corner of every pair, channel by channel."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_SHAPE = ("side", "side", "channels")


def _task(name: str, summary: str, formula: str, dtype: str, tolerance: Tolerance) -> Task:
    return Task(
        name=name,
        family="triangle",
        summary=summary,
        sizes=("side", "channels"),
        inputs=(Tensor("a", dtype, _SHAPE), Tensor("b", dtype, _SHAPE)),
        outputs=(Tensor("out", dtype, _SHAPE),),
        workloads=(Workload({"side": 256, "channels": 128}), Workload({"side": 384, "channels": 32})),
        extra=(Workload({"side": 72, "channels": 48}), Workload({"side": 37, "channels": 16})),
        tolerance=tolerance,
        flops=lambda s: 2.0 * s["side"] ** 3 * s["channels"],
        oracle=None,
        references={"torch": f'import torch\n\n\ndef kernel(a, b):\n    return torch.einsum("{formula}", a, b)\n'},
    )


TASKS = (
    _task(
        "triangle_update",
        "out[i][j][c] = sum over k of a[i][k][c] * b[j][k][c] (outgoing edges)",
        "ikc,jkc->ijc",
        "float16",
        Tolerance(2e-3, 1e-2, "float16 output, float32 sums of up to 384 products in any order"),
    ),
    _task(
        "triangle_incoming",
        "out[i][j][c] = sum over k of a[k][i][c] * b[k][j][c] (incoming edges)",
        "kic,kjc->ijc",
        "bfloat16",
        Tolerance(1e-2, 1e-2, "bfloat16 output, float32 sums of up to 384 products in any order"),
    ),
)
