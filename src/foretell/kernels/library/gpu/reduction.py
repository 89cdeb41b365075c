"""Reduction family on a GPU."""

from __future__ import annotations

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_WORKLOADS = (Workload({"rows": 16384, "cols": 4096}), Workload({"rows": 131072, "cols": 512}))
_EXTRA = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 336}))

_L2NORM = """\
import torch


def kernel(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return torch.linalg.vector_norm(wide, dim=1)
"""


def _task(name: str, summary: str, x: Tensor, out: Tensor, tolerance: Tolerance, reference: str) -> Task:
    return Task(
        name=name,
        family="reduction",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=(x,),
        outputs=(out,),
        workloads=_WORKLOADS,
        extra=_EXTRA,
        tolerance=tolerance,
        flops=lambda s: (2.0 if name == "row_l2norm" else 1.0) * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": reference},
    )


_UNIFORM = Tensor("x", "float32", ("rows", "cols"), fill="uniform")
_ODD = (Workload({"rows": 37, "cols": 1040}), Workload({"rows": 5, "cols": 333}))
_HALF = (Workload({"rows": 8192, "cols": 4096}), Workload({"rows": 65536, "cols": 512}))
_WIDE = "wide = torch.promote_types(x.dtype, torch.float32)"
_EXACT = Tolerance(0.0, 0.0, "the result is one of the items, whatever the order")


def _fold(
    name: str,
    summary: str,
    inputs: str,
    filled: tuple[str, str],
    out: tuple[str, str],
    tolerance: Tolerance,
    expression: str,
    flops: float = 1.0,
    workloads: tuple[Workload, ...] = _HALF,
) -> Task:
    """A task whose reference is one expression over its inputs, a letter each, and the type `wide`."""
    widened = f"    {_WIDE}\n" if "wide" in expression else ""
    return Task(
        name=name,
        family="reduction",
        summary=summary,
        sizes=("rows", "cols"),
        inputs=tuple(Tensor(letter, filled[0], ("rows", "cols"), fill=filled[1]) for letter in inputs),
        outputs=(Tensor("out", out[0], (out[1],) if out[1] else ()),),
        workloads=workloads,
        extra=_ODD,
        tolerance=tolerance,
        flops=lambda s: flops * s["rows"] * s["cols"],
        oracle=None,
        references={"torch": f"import torch\n\n\ndef kernel({', '.join(inputs)}):\n{widened}    return {expression}\n"},
    )


TASKS = (
    _task(
        "row_sum",
        "sum of each row",
        _UNIFORM,
        Tensor("out", "float32", ("rows",)),
        Tolerance(2e-5, 1e-5, "float32 sum of up to 4096 positive terms in any order"),
        "import torch\n\n\ndef kernel(x):\n    return torch.sum(x, dim=1)\n",
    ),
    _task(
        "column_sum",
        "sum of each column",
        _UNIFORM,
        Tensor("out", "float32", ("cols",)),
        Tolerance(1e-4, 1e-4, "float32 sum of up to 131072 positive terms in any order, also one after the other"),
        "import torch\n\n\ndef kernel(x):\n    return torch.sum(x, dim=0)\n",
    ),
    _task(
        "row_l2norm",
        "square root of the sum of squares of each row",
        Tensor("x", "float16", ("rows", "cols"), fill="wide"),
        Tensor("out", "float32", ("rows",)),
        Tolerance(2e-5, 1e-5, "float32 sum of up to 4096 squares in any order"),
        _L2NORM,
    ),
    _task(
        "argmax",
        "index of each row's maximum, the first one where several are equal",
        Tensor("x", "float32", ("rows", "cols"), fill="index:3000"),
        Tensor("out", "int64", ("rows",)),
        Tolerance(0.0, 0.0, "an index is right or wrong"),
        "import torch\n\n\ndef kernel(x):\n    return torch.argmax(x, dim=1)\n",
    ),
    _fold(
        "row_max",
        "maximum of each row",
        "x",
        ("bfloat16", "normal"),
        ("bfloat16", "rows"),
        _EXACT,
        "torch.amax(x, dim=1)",
        workloads=_WORKLOADS,
    ),
    _fold(
        "row_abs_max",
        "largest magnitude of each row",
        "x",
        ("float16", "wide"),
        ("float16", "rows"),
        _EXACT,
        "x.abs().amax(dim=1)",
        workloads=_WORKLOADS,
    ),
    _fold(
        "row_mean",
        "mean of each row, in float32",
        "x",
        ("float16", "uniform"),
        ("float32", "rows"),
        Tolerance(2e-5, 1e-6, "float32 sum of up to 4096 positive terms in any order"),
        "torch.mean(x, dim=1, dtype=wide)",
        workloads=_WORKLOADS,
    ),
    _fold(
        "row_var",
        "unbiased variance of each row",
        "x",
        ("float32", "uniform"),
        ("float32", "rows"),
        Tolerance(1e-4, 1e-6, "float32 moments of up to 4096 terms, also as mean square less squared mean"),
        "torch.var(x, dim=1)",
        flops=4.0,
    ),
    _fold(
        "row_logsumexp",
        "log of the summed exponentials of each row",
        "x",
        ("float32", "wide"),
        ("float32", "rows"),
        Tolerance(1e-5, 1e-4, "float32 subtraction of numbers up to 200, then one logarithm of the row's sum"),
        "torch.logsumexp(x, dim=1)",
        flops=4.0,
    ),
    _fold(
        "row_dot",
        "dot product of each pair of rows, in float32",
        "xy",
        ("float16", "normal"),
        ("float32", "rows"),
        Tolerance(1e-4, 1e-3, "float32 sum of up to 4096 products of both signs in any order"),
        "(x.to(wide) * y.to(wide)).sum(dim=1)",
        flops=2.0,
    ),
    _fold(
        "column_max",
        "maximum of each column",
        "x",
        ("float32", "normal"),
        ("float32", "cols"),
        _EXACT,
        "torch.amax(x, dim=0)",
    ),
    _fold(
        "column_mean_square",
        "mean of the squares of each column, in float32",
        "x",
        ("bfloat16", "normal"),
        ("float32", "cols"),
        Tolerance(1e-4, 1e-5, "float32 sum of up to 131072 squares in any order, also one after the other"),
        "x.to(wide).square().mean(dim=0)",
        flops=2.0,
        workloads=_WORKLOADS,
    ),
    _fold(
        "total_sum",
        "sum of the whole matrix",
        "x",
        ("float32", "uniform"),
        ("float32", ""),
        Tolerance(1e-4, 1e-3, "float32 sum of up to 33 million positive terms, in parts and in any order"),
        "torch.sum(x)",
        workloads=(_HALF[0], Workload({"rows": 16384, "cols": 512})),
    ),
)
