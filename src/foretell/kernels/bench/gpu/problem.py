"""What a GPU candidate is measured against: a task of the library, a KernelBench file or a GPU MODE folder.

A problem is rebuilt from its `spec` (plain JSON) in the judge, the worker and the builders alike; none of them hands
live objects to another.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from foretell.kernels.languages.python_source import Entry, build_model, entry_of, load_module, on_device
from foretell.kernels.languages.tracing import fake_inputs
from foretell.kernels.task import Tensor, Tolerance, evaluate_size

KERNELBENCH_TOLERANCE = Tolerance(1e-2, 1e-2, "what KernelBench itself accepts between float32 programs")


@dataclass(frozen=True)
class Case:
    """One set of sizes: timed, or only checked."""

    name: str
    timed: bool
    sizes: Mapping[str, int]


class Problem(Protocol):
    """`inputs` are drawn on the device from a seed; `reference` is the program that speedups are against.

    `library_calls`: whether a candidate in `triton` or `cuda` may let torch compute beside its own kernels. Other
    people's problems are about whole models; an operation of the library is to be written.
    """

    library_calls: bool
    name: str
    cases: tuple[Case, ...]
    tolerance: Tolerance
    init_inputs: Sequence[Any]
    spec: dict[str, Any]

    def inputs(self, case: Case, seed: int, device: str) -> list[Any]: ...

    def traced_inputs(self, case: Case) -> list[Any]:
        """Inputs of the right shapes under torch's fake mode, where nothing can be drawn."""
        ...

    def reference(self, device: str) -> Entry: ...

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]: ...


class TaskProblem:
    """A task of the library: expected values come from its torch reference in double precision."""

    library_calls = False

    def __init__(self, name: str) -> None:
        from foretell.kernels.library import get

        self._task = get(name, "gpu")
        self.name = name
        self.spec = {"kind": "task", "name": name}
        self.tolerance = self._task.tolerance
        self.init_inputs: Sequence[Any] = ()
        self.cases = tuple(
            Case(workload.name, timed, workload.sizes)
            for workloads, timed in ((self._task.workloads, True), (self._task.extra, False))
            for workload in workloads
        )
        self._entry: Entry | None = None

    def inputs(self, case: Case, seed: int, device: str) -> list[Any]:
        import torch

        generator = torch.Generator(device=device).manual_seed(seed)
        return [_fill(tensor, case.sizes, generator, device) for tensor in self._task.inputs]

    def traced_inputs(self, case: Case) -> list[Any]:
        return fake_inputs([(tensor.dims(case.sizes), tensor.dtype) for tensor in self._task.inputs])

    def reference(self, device: str) -> Entry:
        if self._entry is None:
            self._entry = entry_of(load_module(self._task.references["torch"]))
        return self._entry

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        lifted = [x.double() if x.is_floating_point() else x for x in inputs]
        return as_list(self.reference(device)(*lifted))


class KernelBenchProblem:
    """A file with `Model`, `get_inputs` and `get_init_inputs`, taken as it is."""

    library_calls = True

    def __init__(self, source: str, name: str) -> None:
        self._module = load_module(source)
        for needed in ("Model", "get_inputs"):
            if not hasattr(self._module, needed):
                raise ValueError(f"the problem {name} does not define {needed}")
        self.name = name
        self.spec = {"kind": "kernelbench", "source": source, "name": name}
        self.tolerance = KERNELBENCH_TOLERANCE
        self.cases: tuple[Case, ...] = (Case("as published", True, {}),)
        self._entries: dict[str, Entry] = {}
        given: Any = getattr(self._module, "get_init_inputs", list)()
        self.init_inputs: Sequence[Any] = given if isinstance(given, list | tuple) else ()

    def inputs(self, case: Case, seed: int, device: str) -> list[Any]:
        import torch

        torch.manual_seed(seed)
        drawn = _drawn_on(device, self._module.get_inputs)
        return [on_device(x, device) for x in drawn]

    def traced_inputs(self, case: Case) -> list[Any]:
        return self.inputs(case, 0, "cuda")

    def reference(self, device: str) -> Entry:
        if device not in self._entries:
            self._entries[device] = build_model(self._module.Model, self.init_inputs, device)
        return self._entries[device]

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        return as_list(self.reference(device)(*inputs))


class GpuModeProblem:
    """A folder with `reference.py` (`generate_input`, `ref_kernel`) and `task.yml` (`tests`, `benchmarks`)."""

    library_calls = True

    def __init__(
        self, source: str, name: str, tests: Sequence[Mapping[str, int]], timed: Sequence[Mapping[str, int]]
    ) -> None:
        self._module = load_module(source)
        self.name = name
        self.spec = {"kind": "gpumode", "source": source, "name": name, "tests": list(tests), "timed": list(timed)}
        self.tolerance = KERNELBENCH_TOLERANCE
        self.init_inputs: Sequence[Any] = ()
        self.cases = tuple(
            Case(" ".join(f"{k}={v}" for k, v in sizes.items() if k != "seed"), is_timed, sizes)
            for group, is_timed in ((timed, True), (tests, False))
            for sizes in group
        )

    def inputs(self, case: Case, seed: int, device: str) -> list[Any]:
        sizes = {**case.sizes, "seed": seed % (1 << 31)}
        data = _drawn_on(device, lambda: self._module.generate_input(**sizes))
        items = data if isinstance(data, tuple | list) else (data,)
        return [on_device(x, device) for x in items]

    def traced_inputs(self, case: Case) -> list[Any]:
        return self.inputs(case, 0, "cuda")

    def reference(self, device: str) -> Entry:
        kernel = self._module.ref_kernel
        return lambda *inputs: kernel(inputs if len(inputs) > 1 else inputs[0])

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        return as_list(self.reference(device)(*inputs))


def from_spec(spec: Mapping[str, Any]) -> Problem:
    """The problem that `spec` describes."""
    if spec["kind"] == "task":
        return TaskProblem(spec["name"])
    if spec["kind"] == "kernelbench":
        return KernelBenchProblem(spec["source"], spec["name"])
    return GpuModeProblem(spec["source"], spec["name"], spec["tests"], spec["timed"])


def from_path(path: Path) -> Problem:
    """A KernelBench file, or a GPU MODE `reference.py` (or its folder); ValueError where it is neither."""
    if path.is_dir():
        path = path / "reference.py"
    source = path.read_text(encoding="utf-8")
    names = _top_level_names(source, path)
    if "Model" in names:
        return KernelBenchProblem(source, path.stem)
    if {"generate_input", "ref_kernel"} <= names:
        listed = path.with_name("task.yml")
        tests, timed = read_task_yml(listed.read_text(encoding="utf-8")) if listed.exists() else ([], [])
        if not timed:
            raise ValueError(f"{listed} must list at least one entry under 'benchmarks'")
        return GpuModeProblem(source, path.parent.name, tests, timed)
    raise ValueError(
        f"{path} is neither a KernelBench problem (class Model) nor a GPU MODE one (generate_input, ref_kernel)"
    )


def read_task_yml(text: str) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """`tests` and `benchmarks` of a GPU MODE task.yml: lists of flow mappings of integers, one a line."""
    groups: dict[str, list[dict[str, int]]] = {"tests": [], "benchmarks": []}
    current: str | None = None
    for line in text.splitlines():
        if line and not line[0].isspace() and not line.startswith("-"):
            current = line.partition(":")[0].strip()
        item = line.strip()
        if current in groups and item.startswith("- {") and item.endswith("}"):
            pairs = (part.partition(":") for part in item[3:-1].split(","))
            groups[current].append({key.strip().strip("\"'"): int(value) for key, _, value in pairs})
    return groups["tests"], groups["benchmarks"]


def as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def _drawn_on(device: str, draw: Callable[[], Any]) -> Any:
    """What `draw` returns, made on the device where its code allows that (a CPU generator does not)."""
    import torch

    try:
        with torch.device(device):
            return draw()
    except RuntimeError:
        return draw()


def _top_level_names(source: str, path: Path) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{path} is not valid Python: {error}") from error
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def _fill(tensor: Tensor, sizes: Mapping[str, int], generator: Any, device: str) -> Any:
    import torch

    shape, dtype = tensor.dims(sizes), getattr(torch, tensor.dtype)
    if tensor.fill.startswith("index:"):
        bound = evaluate_size(tensor.fill.removeprefix("index:"), sizes)
        return torch.randint(0, bound, shape, generator=generator, device=device).to(dtype)
    draw: dict[str, Callable[[], Any]] = {
        "normal": lambda: torch.randn(shape, generator=generator, device=device),
        "wide": lambda: torch.randn(shape, generator=generator, device=device) * 30,
        "uniform": lambda: torch.rand(shape, generator=generator, device=device),
        "positive": lambda: torch.rand(shape, generator=generator, device=device) + 0.5,
    }
    return draw[tensor.fill]().to(dtype)
