"""Products of a matrix and a vector on a GPU: the matrix is read once, so memory sets the pace."""

from __future__ import annotations

from math import prod

from foretell.kernels.task import Task, Tensor, Tolerance, Workload

_Shapes = tuple[tuple[int, ...], ...]


def _task(
    name: str,
    summary: str,
    dtype: str,
    tensors: dict[str, tuple[str, ...]],
    out: tuple[str, ...],
    value: str,
    sizes: tuple[str, ...],
    shapes: _Shapes,
    tolerance: Tolerance,
) -> Task:
    """`shapes` are two to time and two only to check; `value` is what the reference returns."""
    workloads = tuple(Workload(dict(zip(sizes, shape, strict=True))) for shape in shapes)
    return Task(
        name=name,
        family="matvec",
        summary=summary,
        sizes=sizes,
        inputs=tuple(Tensor(tensor, dtype, shape) for tensor, shape in tensors.items()),
        outputs=(Tensor("y", dtype, out),),
        workloads=workloads[:2],
        extra=workloads[2:],
        tolerance=tolerance,
        flops=lambda s: 2.0 * prod(s[size] for size in sizes),
        oracle=None,
        references={"torch": f"import torch\n\n\ndef kernel({', '.join(tensors)}):\n    return {value}\n"},
    )


TASKS = (
    _task(
        "matvec",
        "y = A x",
        "float16",
        {"a": ("m", "k"), "x": ("k",)},
        ("m",),
        "a @ x",
        ("m", "k"),
        ((16384, 4096), (131072, 512), (37, 1040), (5, 336)),
        Tolerance(2e-3, 2e-2, "float16 result of float32 sums of up to 4096 products; the sums are near 64"),
    ),
    _task(
        "vecmat",
        "y = x A",
        "bfloat16",
        {"x": ("k",), "a": ("k", "n")},
        ("n",),
        "x @ a",
        ("k", "n"),
        ((4096, 16384), (65536, 1024), (1037, 48), (331, 336)),
        Tolerance(1e-2, 3e-2, "bfloat16 result of float32 sums of up to 65536 products; the sums are near 256"),
    ),
    _task(
        "batched_matvec",
        "y = A x for each of a batch of pairs",
        "float32",
        {"a": ("batch", "m", "k"), "x": ("batch", "k")},
        ("batch", "m"),
        "torch.bmm(a, x.unsqueeze(2)).squeeze(2)",
        ("batch", "m", "k"),
        ((64, 512, 1024), (4096, 64, 128), (3, 37, 272), (5, 21, 48)),
        Tolerance(1e-5, 5e-4, "float32 sums of up to 1024 products in any order; the sums are near 32"),
    ),
)
