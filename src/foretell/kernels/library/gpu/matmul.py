"""Matrix products on a GPU: mostly 16-bit factors, float32 sums, 16-bit results."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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

# The products below are smaller than those above: a thread an output must not take long either.
_Shapes = tuple[tuple[int, ...], ...]
_MEDIUM: _Shapes = ((2048, 2048, 2048), (4096, 512, 2048))
_SMALL: _Shapes = ((1024, 2048, 1024), (2048, 512, 2048))
_SKINNY: _Shapes = ((16, 8192, 8192), (64, 4096, 12288))
_AWKWARD: _Shapes = ((208, 176, 336), (37, 48, 80))
_HALF_SMALL = Tolerance(2e-3, 2e-2, "float16 result of float32 sums of up to 2048 products; the sums are near 45")
_BRAIN_SMALL = Tolerance(1e-2, 2e-2, "bfloat16 result of float32 sums of up to 2048 products; the sums are near 45")
_FACTORS = {"a": ("m", "k"), "b": ("k", "n")}


def _returns(inputs: str, value: str) -> str:
    return f"import torch\n\n\ndef kernel({inputs}):\n    return {value}\n"


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


def _product(
    name: str,
    summary: str,
    dtype: str,
    tensors: Mapping[str, tuple[str, ...]],
    value: str,
    *,
    tolerance: Tolerance | None = None,
    shapes: _Shapes = _MEDIUM,
    extra: _Shapes = _AWKWARD,
    sizes: tuple[str, ...] = _SIZES,
    fills: Mapping[str, str] | None = None,
    out: Tensor | None = None,
    flops: Callable[[Sizes], float] = _flops,
) -> Task:
    """A product whose reference returns `value`, an expression over the tensors' names."""
    drawn = fills or {}
    return Task(
        name=name,
        family="matmul",
        summary=summary,
        sizes=sizes,
        inputs=tuple(Tensor(tensor, dtype, shape, drawn.get(tensor, "normal")) for tensor, shape in tensors.items()),
        outputs=(out or Tensor("c", dtype, ("m", "n")),),
        workloads=tuple(Workload(dict(zip(sizes, shape, strict=True))) for shape in shapes),
        extra=tuple(Workload(dict(zip(sizes, shape, strict=True))) for shape in extra),
        tolerance=tolerance or (_HALF_SMALL if dtype == "float16" else _BRAIN_SMALL),
        flops=flops,
        oracle=None,
        references={"torch": _returns(", ".join(tensors), value)},
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
    _product(
        "matmul_at",
        "C = Aᵀ B",
        "bfloat16",
        {"a": ("k", "m"), "b": ("k", "n")},
        "a.t() @ b",
        extra=((208, 176, 336), (40, 48, 80)),
    ),
    _product("matmul_relu", "C = max(A B, 0)", "float16", _FACTORS, "torch.relu(a @ b)"),
    _product("matmul_residual", "C = A B + R", "bfloat16", {**_FACTORS, "residual": ("m", "n")}, "a @ b + residual"),
    _product(
        "matmul_scaled_rows",
        "C = A B times a scale for each row and one for each column",
        "float16",
        {**_FACTORS, "rows": ("m",), "cols": ("n",)},
        "(a @ b) * rows[:, None] * cols",
        fills={"rows": "positive", "cols": "positive"},
        tolerance=Tolerance(3e-3, 3e-2, "float16 result, and perhaps float16 products and scaled rows in between"),
    ),
    _product(
        "matmul_silu_gate",
        "C = silu(A G) * (A U)",
        "bfloat16",
        {"a": ("m", "k"), "gate": ("k", "n"), "up": ("k", "n")},
        "torch.nn.functional.silu(a @ gate) * (a @ up)",
        shapes=((2048, 1024, 2048), (4096, 512, 1024)),
        tolerance=Tolerance(2e-2, 6e-2, "bfloat16 result, perhaps bfloat16 factors of about 45 in between"),
        flops=lambda s: 2 * _flops(s),
    ),
    _product(
        "matmul_skinny",
        "C = A B with few rows in A",
        "float16",
        _FACTORS,
        "a @ b",
        shapes=_SKINNY,
        extra=((24, 176, 336), (5, 48, 80)),
        tolerance=Tolerance(2e-3, 6e-2, "float16 result of sums of up to 12288 products, added in parts, near 110"),
    ),
    _product(
        "matmul_float32",
        "C = A B in float32",
        "float32",
        _FACTORS,
        "a @ b",
        shapes=_SMALL,
        tolerance=Tolerance(1e-5, 1e-3, "float32 sums of up to 2048 products near 45; factors of 10 bits miss by 1e-2"),
    ),
    _product(
        "matmul_int8",
        "C = A B in int32, of int8 factors: every sum is below 2^24, so float32 has it exactly too",
        "int8",
        _FACTORS,
        "(a.float() @ b.float()).to(torch.int32)",
        shapes=((1024, 2048, 2048), (4096, 1024, 1024)),
        fills={"a": "index:127"},
        out=Tensor("c", "int32", ("m", "n")),
        tolerance=Tolerance(0.0, 0.0, "sums of integers are exact"),
    ),
    _product(
        "grouped_matmul",
        "each block of m rows of A times the factor of its group",
        "float16",
        {"a": ("groups * m", "k"), "b": ("groups", "k", "n")},
        "torch.bmm(a.view(b.shape[0], -1, a.shape[1]), b).view(a.shape[0], -1)",
        sizes=("groups", *_SIZES),
        shapes=((8, 512, 2048, 1024), (32, 64, 1024, 1024)),
        extra=((3, 208, 80, 112), (2, 37, 48, 80)),
        out=Tensor("c", "float16", ("groups * m", "n")),
        flops=lambda s: s["groups"] * _flops(s),
    ),
    _product(
        "matmul_sum_rows",
        "sum of each row of A B",
        "float16",
        _FACTORS,
        "(a @ b).sum(dim=1, dtype=torch.promote_types(a.dtype, torch.float32))",
        shapes=((2048, 2048, 2048), (4096, 1024, 1024)),
        out=Tensor("c", "float32", ("m",)),
        tolerance=Tolerance(1e-3, 2.5, "sums near 2000; a float16 product of 2048 terms that are summed misses by 1"),
        flops=lambda s: 1.0 * s["k"] * s["n"] + 2.0 * s["m"] * s["k"],
    ),
    _product(
        "gram",
        "C = A Aᵀ",
        "float16",
        {"a": ("m", "k")},
        "a @ a.t()",
        sizes=("m", "k"),
        shapes=((2048, 2048), (4096, 512)),
        extra=((208, 336), (37, 80)),
        out=Tensor("c", "float16", ("m", "m")),
        flops=lambda s: 1.0 * s["m"] * (s["m"] + 1) * s["k"],
    ),
)
