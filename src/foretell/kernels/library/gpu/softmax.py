"""Softmax family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 512}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}),)


def _row_task(name: str, summary: str, tolerance: Tolerance, reference: str) -> Task:
    return Task(
        name=name,
        family="softmax",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(Tensor("x", "float32", ("rows", "cols"), fill="wide"),),
        outputs=(Tensor("out", "float32", ("rows", "cols")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: 5.0 * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


_SMALL = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 333}))

_CAUSAL = """\
import torch


def kernel(x):
    size = x.shape[-1]
    seen = torch.ones(size, size, dtype=torch.bool, device=x.device).tril()
    return torch.softmax(x.masked_fill(~seen, -torch.inf), dim=-1)
"""

_BACKWARD = """\
import torch


def kernel(y, grad):
    wide = torch.promote_types(y.dtype, torch.float32)
    product = y.to(wide) * grad.to(wide)
    return (product - y.to(wide) * product.sum(dim=1, keepdim=True)).to(y.dtype)
"""

_LOG_BACKWARD = """\
import torch


def kernel(y, grad):
    return grad - torch.exp(y) * grad.sum(dim=1, keepdim=True)
"""


def _more(
    name: str,
    summary: str,
    inputs: tuple[Tensor, ...],
    workloads: tuple[Workload, ...],
    tolerance: Tolerance,
    flops: float,
    reference: str,
) -> Task:
    return Task(
        name=name,
        family="softmax",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=inputs,
        outputs=(Tensor("out", inputs[0].dtype, ("rows", "cols")),),
        workloads=workloads,
        extra=_SMALL,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


def _rows(name: str, dtype: str, fill: str = "normal") -> Tensor:
    return Tensor(name, dtype, ("rows", "cols"), fill=fill)


TASKS = (
    _row_task(
        "softmax",
        "exp(x - max) / sum of each row",
        Tolerance(2e-4, 1e-6, "float32 exp and a sum of up to 4096 terms in any order, outputs between 0 and 1"),
        "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x, dim=1)\n",
    ),
    _row_task(
        "log_softmax",
        "x - max - log(sum exp(x - max)) of each row",
        Tolerance(1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"),
        "import torch\n\n\ndef kernel(x):\n    return torch.log_softmax(x, dim=1)\n",
    ),
    _more(
        "softmax_scaled",
        "softmax of each row divided by the temperature 8",
        (_rows("x", "float16", "wide"),),
        _WORKLOADS,
        Tolerance(2e-3, 1e-6, "float16 output between 0 and 1, float32 exp and sum in any order"),
        6.0,
        "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x / 8.0, dim=1)\n",
    ),
    _more(
        "softmax_bias",
        "softmax of each row plus a row of biases",
        (_rows("x", "float32", "wide"), Tensor("bias", "float32", ("cols",))),
        (Workload({"rows": 4096, "cols": 4096}), Workload({"rows": 32768, "cols": 512})),
        Tolerance(2e-4, 1e-6, "float32 exp and a sum of up to 4096 terms in any order, outputs between 0 and 1"),
        6.0,
        "import torch\n\n\ndef kernel(x, bias):\n    return torch.softmax(x + bias, dim=1)\n",
    ),
    _more(
        "softmax_backward",
        "y * (grad - sum(y * grad)) of each row: the gradient through a softmax",
        (_rows("y", "bfloat16", "uniform"), _rows("grad", "bfloat16")),
        (Workload({"rows": 4096, "cols": 4096}), Workload({"rows": 32768, "cols": 512})),
        Tolerance(1e-2, 1e-3, "bfloat16 output (8 bits), float32 sum of up to 4096 products in any order"),
        4.0,
        _BACKWARD,
    ),
    _more(
        "log_softmax_backward",
        "grad - exp(y) * sum(grad) of each row: the gradient through a log-softmax",
        (_rows("y", "float32"), _rows("grad", "float32")),
        (Workload({"rows": 2048, "cols": 4096}), Workload({"rows": 32768, "cols": 256})),
        Tolerance(
            1e-4, 1e-2, "float32 sum of up to 4096 terms of both signs in any order, times exponentials up to 200"
        ),
        4.0,
        _LOG_BACKWARD,
    ),
    Task(
        name="softmax_causal",
        family="softmax",
        summary="softmax of each row of square matrices over the columns up to the diagonal, 0 after it",
        sizes=("batch", "size"),
        inputs=(Tensor("x", "bfloat16", ("batch", "size", "size"), fill="wide"),),
        outputs=(Tensor("out", "bfloat16", ("batch", "size", "size")),),
        workloads=(Workload({"batch": 2, "size": 4096}), Workload({"batch": 128, "size": 512})),
        extra=(Workload({"batch": 3, "size": 208}), Workload({"batch": 2, "size": 37})),
        tolerance=Tolerance(1e-2, 1e-6, "bfloat16 output (8 bits) between 0 and 1, float32 exp and sum in any order"),
        flops=lambda s: 2.5 * s["batch"] * s["size"] * s["size"],
        oracle=None,
        references={"torch": _CAUSAL},
        least_bytes_override=lambda s: 3.0 * s["batch"] * s["size"] * s["size"],
    ),
)
