"""A task: one operation to make fast, with everything needed to run, check and cost it.

Stdlib only. Arrays appear in annotations alone; the numpy work is in the task's `oracle` and in `bench`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Sizes = Mapping[str, int]
Arrays = Mapping[str, "NDArray[Any]"]
Oracle = Callable[[Arrays, Sizes], "tuple[NDArray[Any], ...]"]

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@cache
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def evaluate_size(expression: str | int, sizes: Sizes) -> int:
    """Value of a dimension: an integer, a size name, or + - * // over those (`"height - taps + 1"`)."""
    if isinstance(expression, int):
        return expression

    def walk(node: ast.expr) -> int:
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        raise ValueError(f"cannot read the dimension {expression!r}: use size names, integers and + - * //")

    return walk(_parsed(expression))


@dataclass(frozen=True)
class Tensor:
    """One argument of the operation.

    `shape` holds size names, integers or small expressions over them. `fill` says how an input is drawn:
    `normal` (mean 0, deviation 1), `wide` (deviation 30: overflows a careless exp), `uniform` (0 to 1),
    `positive` (0.5 to 1.5), or `index:SIZE` (integers from 0 to SIZE - 1, SIZE being a dimension expression).
    """

    name: str
    dtype: str
    shape: tuple[str | int, ...]
    fill: str = "normal"

    def dims(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(evaluate_size(dim, sizes) for dim in self.shape)


@dataclass(frozen=True)
class Workload:
    """One set of sizes at which the operation is timed or only checked."""

    sizes: Sizes

    @property
    def name(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.sizes.items())


@dataclass(frozen=True)
class Tolerance:
    """|got - want| <= absolute + relative * |want|, elementwise; integers must be equal. `reason` says why so wide."""

    relative: float
    absolute: float
    reason: str


@dataclass(frozen=True)
class Task:
    """One operation.

    `references` maps a language to the straightforward program that speedups are measured against.
    `oracle` computes the outputs with numpy in double precision, independently of every reference: it judges
    correctness. A GPU task may have none: there the torch reference is run in double precision, in the judge's process.
    `flops` and `least_bytes` cost one run at given sizes (each input read once, each output
    written once), so a roofline floor is known for every workload.
    """

    name: str
    family: str
    summary: str
    sizes: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    workloads: tuple[Workload, ...]
    extra: tuple[Workload, ...]
    tolerance: Tolerance
    flops: Callable[[Sizes], float]
    oracle: Oracle | None
    references: Mapping[str, str]
    least_bytes_override: Callable[[Sizes], float] | None = field(default=None)

    def __post_init__(self) -> None:
        for workload in (*self.workloads, *self.extra):
            if tuple(workload.sizes) != self.sizes:
                raise ValueError(
                    f"task {self.name}: workload {workload.name!r} must give the sizes {self.sizes} in order"
                )
        if not self.workloads or not self.extra:
            raise ValueError(f"task {self.name}: at least one timed workload and one extra shape are needed")

    def least_bytes(self, sizes: Sizes) -> float:
        """Fewest bytes any implementation must move through memory at these sizes."""
        if self.least_bytes_override is not None:
            return self.least_bytes_override(sizes)
        return float(sum(tensor_bytes(tensor, sizes) for tensor in (*self.inputs, *self.outputs)))


ITEM_BYTES: Mapping[str, int] = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int8": 1,
    "uint8": 1,
}


def tensor_bytes(tensor: Tensor, sizes: Sizes) -> int:
    count = 1
    for dim in tensor.dims(sizes):
        count *= dim
    return count * ITEM_BYTES[tensor.dtype]


def fill_array(tensor: Tensor, sizes: Sizes, rng: np.random.Generator) -> NDArray[Any]:
    """Draw an input array as `tensor.fill` says."""
    shape = tensor.dims(sizes)
    if tensor.fill.startswith("index:"):
        return rng.integers(0, evaluate_size(tensor.fill.removeprefix("index:"), sizes), size=shape).astype(
            tensor.dtype
        )
    if tensor.fill == "normal":
        return rng.standard_normal(shape, dtype="float32").astype(tensor.dtype, copy=False)
    if tensor.fill == "wide":
        return (30 * rng.standard_normal(shape, dtype="float32")).astype(tensor.dtype, copy=False)
    if tensor.fill == "uniform":
        return rng.random(shape, dtype="float32").astype(tensor.dtype, copy=False)
    if tensor.fill == "positive":
        return (rng.random(shape, dtype="float32") + 0.5).astype(tensor.dtype, copy=False)
    raise ValueError(f"tensor {tensor.name}: unknown fill {tensor.fill!r}")
