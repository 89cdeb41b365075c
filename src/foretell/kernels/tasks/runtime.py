"""A task's own code, executed: inputs from a seed, the reference, expected values. Needs torch.

This is the one door through which the code of a problem runs, in the judge, the worker and the builders alike; each of
them makes its runtime from the task's `spec`, and none hands live objects to another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from foretell.kernels.languages.python_source import Entry, entry_of, load_module
from foretell.kernels.task import Sizes, Task, Tensor, Workload, evaluate_size
from foretell.kernels.tasks import flashinfer, gpumode, kernelbench, module
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.trees import leaves


class Runtime(Protocol):
    """`inputs` are drawn on the device from a seed; `reference` is the program that speedups are against.

    Inputs may be nested; `init_inputs` are what a model is built from. With `own_check` it is not the expected values
    that outputs are judged by, but `verdict`.
    """

    init_inputs: Sequence[Any]
    own_check: bool

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]: ...

    def traced_inputs(self, workload: Workload) -> list[Any]:
        """Inputs of the right shapes under torch's fake mode, where nothing can be drawn."""
        ...

    def reference(self, device: str, again: bool = False) -> Entry:
        """The reference; if `again`, made once more from the start."""
        ...

    def traced_reference(self) -> Entry:
        """The reference under torch's fake mode."""
        ...

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        """The right outputs, flat."""
        ...

    def verdict(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
        """What the task's own check says against outputs (flat) for these inputs; empty if they are right."""
        ...

    def modules(self) -> contextlib.AbstractContextManager[Any]:
        """While a candidate is loaded: the modules of the task that it may import."""
        ...


def runtime_of(task: Task) -> Runtime:
    """The runtime of a GPU task; executes its files. Raises BadTask if they cannot be executed."""
    from foretell.kernels.tasks.flashinfer_runtime import FlashInferRuntime
    from foretell.kernels.tasks.problem_runtime import GpuModeRuntime, KernelBenchRuntime, ModuleRuntime

    makers: dict[str, Callable[[Task], Runtime]] = {
        "library": LibraryRuntime,
        kernelbench.KIND: KernelBenchRuntime,
        gpumode.KIND: GpuModeRuntime,
        flashinfer.KIND: FlashInferRuntime,
        module.KIND: ModuleRuntime,
    }
    if task.kind not in makers or "torch" not in task.references:
        what = f"the task {task.name} has no program that runs on a GPU"
        raise BadTask(Refusal.NOT_RUNNABLE, what, "a task with a torch reference")
    return makers[task.kind](task)


class LibraryRuntime:
    """A task of the library: expected values come from its torch reference in double precision."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.init_inputs: Sequence[Any] = ()
        self.own_check = False
        self._entry: Entry | None = None

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]:
        return drawn_inputs(self._task.inputs, workload.sizes, seed, device)

    def traced_inputs(self, workload: Workload) -> list[Any]:
        import torch

        return [
            torch.empty(tensor.dims(workload.sizes), dtype=getattr(torch, tensor.dtype), device="cuda")
            for tensor in self._task.inputs
        ]

    def reference(self, device: str, again: bool = False) -> Entry:
        if self._entry is None:
            self._entry = entry_of(load_module(self._task.references["torch"]))
        return self._entry

    def traced_reference(self) -> Entry:
        return self.reference("cuda")

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        lifted = [x.double() if x.is_floating_point() else x for x in inputs]
        return leaves(self.reference(device)(*lifted))

    def verdict(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
        raise NotImplementedError

    def modules(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()


def drawn_inputs(tensors: Sequence[Tensor], sizes: Sizes, seed: int, device: str) -> list[Any]:
    """Inputs as their fills say; the same seed draws the same values on the same kind of device."""
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    return [_fill(tensor, sizes, generator, device) for tensor in tensors]


def _fill(tensor: Tensor, sizes: Sizes, generator: Any, device: str) -> Any:
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
