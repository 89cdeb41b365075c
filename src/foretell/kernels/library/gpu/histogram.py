"""Histogram family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_HISTOGRAM = """\
import torch


def kernel(values):
    return torch.bincount(values, minlength=256).to(torch.int32)
"""

TASKS = (
    Task(
        name="histogram",
        family="histogram",
        summary="counts[b] = number of values equal to b, for values from 0 to 255",
        sizes=("count",),
        inputs=(Tensor("values", "int32", ("count",), fill="index:256"),),
        outputs=(Tensor("counts", "int32", (256,)),),
        workloads=(Workload({"count": 16 * 1024 * 1024}), Workload({"count": 6_000_000})),
        extra=(Workload({"count": 9200}), Workload({"count": 1003})),
        tolerance=Tolerance(0.0, 0.0, "a count is right or wrong"),
        flops=lambda s: 1.0 * s["count"],
        oracle=None,
        references={"torch": _HISTOGRAM},
    ),
)
