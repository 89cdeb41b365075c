"""A task: one operation to make fast, with everything needed to run, check and cost it.

The one value for every source of tasks: the library, problem files and folders (see `tasks`), rows of a table. Stdlib
only. Arrays appear in annotations alone; the numpy work is in the task's `oracle` and in `bench`, and what executes the
code of a problem is in `tasks`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from foretell.received import check_text

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


MOST_CHARACTERS, MOST_SIZE = 200, 1 << 63
_PARSED = 512  # expressions whose trees are kept; one of the longest takes 60 kB


@lru_cache(maxsize=_PARSED)
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def evaluate_size(expression: str | int, sizes: Sizes) -> int:
    """Value of a dimension: an integer, a size name, or + - * // over those (`"height - taps + 1"`)."""
    if isinstance(expression, int):
        return _bounded(expression, expression)
    if len(expression) > MOST_CHARACTERS:
        raise ValueError(f"a dimension of {len(expression)} characters; at most {MOST_CHARACTERS} are read")

    def walk(node: ast.expr) -> int:
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _bounded(_OPERATORS[type(node.op)](walk(node.left), walk(node.right)), expression)
        raise ValueError(f"cannot read the dimension {expression!r}: use size names, integers and + - * //")

    return _bounded(walk(_parsed(expression)), expression)


def _bounded(value: int, expression: str | int) -> int:
    if abs(value) > MOST_SIZE:
        raise ValueError(f"the dimension {str(expression)[:MOST_CHARACTERS]} is beyond 64 bits")
    return value


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
    """One set of sizes at which the operation is timed or only checked.

    `arguments` are what the source's input generator takes besides whole numbers (plain JSON); `label` is a name for
    a workload whose sizes give none.
    """

    sizes: Sizes = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        if self.label:
            return self.label
        plain = {key: _short(value) for key, value in self.arguments.items()}
        return " ".join(f"{key}={value}" for key, value in {**self.sizes, **plain}.items())


@dataclass(frozen=True)
class Tolerance:
    """|got - want| <= absolute + relative * |want|, elementwise; integers must be equal. `reason` says why so wide."""

    relative: float
    absolute: float
    reason: str


@dataclass(frozen=True)
class WorkloadCost:
    """What one run of a workload takes, read off the recording of the task's reference.

    `flops` and `least_bytes` are the least that any implementation needs. `dtype` is that of the first input; `inputs`
    and `outputs` count tensors. `reference_us` is the reference's time, if it is known, or an estimate of it.
    """

    flops: float
    least_bytes: float
    dtype: str = "float32"
    inputs: int = 0
    outputs: int = 0
    reference_us: float | None = None
    estimated: bool = False


def unknown_flops(sizes: Sizes) -> float:
    """The FLOPs of a task of which nobody said what it costs."""
    return 0.0


@dataclass(frozen=True)
class Task:
    """One operation.

    `kind` is its source: `library`, or the form that its `files` were read from (see `tasks`), or `table` where no more
    is known than a recorded measurement told.
    `references` maps a language to the straightforward program that speedups are measured against.
    `oracle` computes the outputs with numpy in double precision, independently of every reference: it judges
    correctness. A GPU task may have none: there the torch reference is run in double precision, in the judge's process.
    `flops` and `least_bytes` cost one run at given sizes (each input read once, each output
    written once), so a roofline floor is known for every workload.
    `inputs` and `outputs` are empty where only running the source's code could tell them.
    `files` are the texts that a task of another source consists of, by name; each reference is one of them.
    All texts in it can be written as UTF-8, whatever they were read from: NotText is raised otherwise.
    `costs` are by name of workload, for tasks without formulas (see `cost.tasks.costed`); no part of its identity.
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
    kind: str = "library"
    files: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, WorkloadCost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for workload in (*self.workloads, *self.extra):
            if self.sizes and tuple(workload.sizes) != self.sizes:
                raise ValueError(
                    f"task {self.name}: workload {workload.name!r} must give the sizes {self.sizes} in order"
                )
        if not self.workloads:
            raise ValueError(f"task {self.name}: at least one timed workload is needed")
        if not self.references:
            raise ValueError(f"task {self.name}: at least one reference is needed")
        texts = (self.name, self.family, self.summary, self.sizes, self.tolerance.reason)
        groups = (*map(vars, self.workloads), *map(vars, self.extra), *map(vars, self.inputs), *map(vars, self.outputs))
        check_text((texts, groups, dict(self.references), dict(self.files)), "the task or a file of it")

    def __repr__(self) -> str:
        timed = ", ".join(workload.name for workload in self.workloads)
        return f"<task {self.name} ({self.kind}, for a {self.device_kind.upper()}): timed at {timed}>"

    @property
    def device_kind(self) -> str:
        """The kind of device that it is for: `gpu` if its reference is in torch, else `cpu`."""
        return "gpu" if "torch" in self.references else "cpu"

    @property
    def library_calls(self) -> bool:
        """Whether a candidate in `triton` or `cuda` may let torch compute beside its own kernels.

        Other people's problems are about whole models; an operation of the library is to be written.
        """
        return self.kind != "library"

    @property
    def spec(self) -> dict[str, Any]:
        """Plain JSON from which `tasks.from_spec` rebuilds it in another process."""
        plain = {
            "kind": self.kind,
            "name": self.name,
            "workloads": [asdict(workload) for workload in self.workloads],
            "extra": [asdict(workload) for workload in self.extra],
            "tolerance": asdict(self.tolerance),
        }
        if self.kind == "table":
            raise ValueError(f"the task {self.name} is known from a table of measurements only: it cannot be run")
        if self.kind == "library":
            return plain | {"device": self.device_kind}
        return plain | {
            "family": self.family,
            "summary": self.summary,
            "sizes": list(self.sizes),
            "inputs": [asdict(tensor) for tensor in self.inputs],
            "outputs": [asdict(tensor) for tensor in self.outputs],
            "files": dict(self.files),
            "references": {language: self._file_of(source) for language, source in self.references.items()},
        }

    @cached_property
    def identity(self) -> str:
        """Hash of all that a measurement depends on: equal for the same content, whatever its file is called."""
        content: dict[str, Any] = {
            "kind": self.kind,
            "workloads": [[dict(workload.sizes), dict(workload.arguments)] for workload in self.workloads],
            "extra": [[dict(workload.sizes), dict(workload.arguments)] for workload in self.extra],
            "tolerance": [self.tolerance.relative, self.tolerance.absolute],
            "references": dict(self.references),
        }
        if self.files:
            content["files"] = dict(self.files)
        else:
            content["name"] = self.name
            content["tensors"] = [asdict(tensor) for tensor in (*self.inputs, *self.outputs)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def key(self) -> str:
        """What candidates, journals and caches call it: its name if that is unique, else its identity."""
        return self.identity if self.files else self.name

    def flops_of(self, workload: Workload) -> float:
        """FLOPs of one run of a workload: recorded, or by the formula; 0 if neither is known."""
        cost = self.costs.get(workload.name)
        return self.flops(workload.sizes) if cost is None else cost.flops

    def least_bytes_of(self, workload: Workload) -> float:
        """Fewest bytes that any implementation must move for a workload: recorded, or by its tensors."""
        cost = self.costs.get(workload.name)
        return self.least_bytes(workload.sizes) if cost is None else cost.least_bytes

    @property
    def dtype(self) -> str:
        """The type that it computes in: that of its first input, `float32` if that is not known."""
        if self.inputs:
            return self.inputs[0].dtype
        return next((cost.dtype for cost in self.costs.values()), "float32")

    def least_bytes(self, sizes: Sizes) -> float:
        """Fewest bytes any implementation must move through memory at these sizes."""
        if self.least_bytes_override is not None:
            return self.least_bytes_override(sizes)
        return float(sum(self._bytes_at(sizes)))

    def certain_bytes(self, sizes: Sizes) -> float:
        """Bytes that no right implementation can do without, by a wide margin: less than that is too fast to be true.

        What a user's operation reads of its inputs is not known; its outputs it must write.
        """
        if not self.files:
            return self.least_bytes(sizes) / 2
        return float(self._bytes_at(sizes)[1]) / 2

    def _bytes_at(self, sizes: Sizes) -> tuple[int, int]:
        """Bytes of all inputs and of all outputs: worked out once for each workload, of which every forecast asks."""
        key = tuple(sizes.items())
        if key not in self._bytes:
            inputs, outputs = (sum(tensor_bytes(t, sizes) for t in each) for each in (self.inputs, self.outputs))
            self._bytes[key] = inputs, outputs
        return self._bytes[key]

    @cached_property
    def _bytes(self) -> dict[tuple[tuple[str, int], ...], tuple[int, int]]:
        return {}

    def _file_of(self, source: str) -> str:
        return next(name for name, text in self.files.items() if text == source)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


FILLS = frozenset({"normal", "wide", "uniform", "positive"})
INDEX = "index:"
ITEM_BYTES: Mapping[str, int] = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


def tensor_bytes(tensor: Tensor, sizes: Sizes) -> int:
    count = 1
    for dim in tensor.dims(sizes):
        count *= dim
    return count * ITEM_BYTES[tensor.dtype]


def fill_array(tensor: Tensor, sizes: Sizes, rng: np.random.Generator) -> NDArray[Any]:
    """Draw an input array as `tensor.fill` says."""
    shape = tensor.dims(sizes)
    if tensor.fill.startswith(INDEX):
        return rng.integers(0, evaluate_size(tensor.fill.removeprefix(INDEX), sizes), size=shape).astype(tensor.dtype)
    if tensor.fill == "normal":
        return rng.standard_normal(shape, dtype="float32").astype(tensor.dtype, copy=False)
    if tensor.fill == "wide":
        return (30 * rng.standard_normal(shape, dtype="float32")).astype(tensor.dtype, copy=False)
    if tensor.fill == "uniform":
        return rng.random(shape, dtype="float32").astype(tensor.dtype, copy=False)
    if tensor.fill == "positive":
        return (rng.random(shape, dtype="float32") + 0.5).astype(tensor.dtype, copy=False)
    raise ValueError(f"tensor {tensor.name}: unknown fill {tensor.fill!r}")
