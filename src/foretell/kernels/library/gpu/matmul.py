"""Matrix products on a GPU: 16-bit factors, float32 sums, 16-bit results."""

from __future__ import annotations

from foretell.kernels.task import Sizes, Task, Tensor, Tolerance, Workload

_SIZES = ("m", "n", "k")
_WORKLOADS = (Workload({"m": 4096, "n": 4096, "k": 4096}), Workload({"m": 8192, "n": 2048, "k": 2048}))
_EXTRA = (Workload({"m": 208, "n": 176, "k": 336}), Workload({"m": 37, "n": 48, "k": 80}))
_HALF = Tolerance(2e-3, 6e-2, "float16 result of float32 sums of up to 4096 products; the sums are near 64")
_BRAIN = Tolerance(1e-2, 6e-2, "bfloat16 result of float32 sums of up to 4096 products; the sums are near 64")

_MATMUL = "import torch\n\n\ndef kernel(a, b):\n    return a @ b\n"
_TRANSPOSED = "import torch\n\n\ndef kernel(a, b):\n    return a @ b.t()\n"
_BIAS_GELU = """\
import torch


def kernel(a, b, bias):
    return torch.nn.functional.gelu(a @ b + bias, approximate="tanh")
"""


def _flops(s: Sizes) -> float:
    return 2.0 * s.get("batch", 1) * s["m"] * s["n"] * s["k"]


def _task(name: str, summary: str, dtype: str, tensors: dict[str, tuple[str, ...]], reference: str) -> Task:
    return Task(
        name=name,
        family="matmul",
        summary=summary,
        sizes=_SIZES,
        inputs=tuple(Tensor(tensor, dtype, shape) for tensor, shape in tensors.items()),
        outputs=(Tensor("c", dtype, ("m", "n")),),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=_HALF if dtype == "float16" else _BRAIN,
        flops=_flops,
        oracle=None,
        references={"torch": reference},
    )


TASKS = (
    _task("matmul", "C = A B", "float16", {"a": ("m", "k"), "b": ("k", "n")}, _MATMUL),
    _task("matmul_transposed", "C = A Bᵀ", "bfloat16", {"a": ("m", "k"), "b": ("n", "k")}, _TRANSPOSED),
    _task(
        "matmul_bias_gelu",
        "C = gelu(A B + bias), in its form with tanh",
        "float16",
        {"a": ("m", "k"), "b": ("k", "n"), "bias": ("n",)},
        _BIAS_GELU,
    ),
    Task(
        name="batched_matmul",
        family="matmul",
        summary="C = A B for each of a batch of pairs",
        sizes=("batch", *_SIZES),
        inputs=(Tensor("a", "float16", ("batch", "m", "k")), Tensor("b", "float16", ("batch", "k", "n"))),
        outputs=(Tensor("c", "float16", ("batch", "m", "n")),),
        workloads=(
            Workload({"batch": 64, "m": 1024, "n": 1024, "k": 512}),
            Workload({"batch": 256, "m": 512, "n": 512, "k": 512}),
        ),
        extra=(
            Workload({"batch": 3, "m": 208, "n": 80, "k": 112}),
            Workload({"batch": 2, "m": 37, "n": 48, "k": 80}),
        ),
        tolerance=Tolerance(2e-3, 2e-2, "float16 result of float32 sums of up to 512 products; the sums are near 23"),
        flops=_flops,
        oracle=None,
        references={"torch": _MATMUL},
    ),
)
