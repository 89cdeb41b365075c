"""Convolution family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_DEPTHWISE_CONV1D = """\
import torch


def kernel(x, weights):
    padded = torch.nn.functional.pad(x, (weights.shape[1] - 1, 0))
    return torch.nn.functional.conv1d(padded[None], weights[:, None, :], groups=x.shape[0])[0]
"""

TASKS = (
    Task(
        name="depthwise_conv1d",
        family="convolution",
        summary="out[i][t] = sum over k < 4 of weights[i][k] * x[i][t - 3 + k], zero before the start",
        sizes=("channels", "length"),
        inputs=(Tensor("x", "float16", ("channels", "length")), Tensor("weights", "float16", ("channels", 4))),
        outputs=(Tensor("out", "float16", ("channels", "length")),),
        workloads=(Workload({"channels": 4096, "length": 16384}), Workload({"channels": 16384, "length": 2016})),
        extra=(Workload({"channels": 37, "length": 1040}), Workload({"channels": 5, "length": 48})),
        tolerance=Tolerance(2e-3, 2e-3, "float16 output of four products, added in float32"),
        flops=lambda s: 8.0 * s["channels"] * s["length"],
        oracle=None,
        references={"torch": _DEPTHWISE_CONV1D},
    ),
)
