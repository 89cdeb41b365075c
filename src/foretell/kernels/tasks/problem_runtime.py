"""The code of problem files, executed: KernelBench's `Model`, GPU MODE's `ref_kernel`, a module's `reference`."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from foretell.extras import missing
from foretell.kernels.languages.python_source import Entry, build_model, load_module, on_device
from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks import gpumode, kernelbench, module
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.trees import is_tensor, leaves, rebuilt


class FileRuntime:
    """What the runtimes of problem files share: the module, loaded with the files beside it."""

    def __init__(self, task: Task, main: str) -> None:
        self._task = task
        others = [name for name in task.files if name.endswith(".py") and name != main]
        self._beside: dict[str, ModuleType] = {}
        with _importing(task):
            for name in others:
                with self.modules():
                    self._beside[name.removesuffix(".py")] = load_module(task.files[name])
            with self.modules():
                self._module: Any = load_module(task.files[main])
        self.init_inputs: Sequence[Any] = ()
        self.own_check = False

    def modules(self) -> contextlib.AbstractContextManager[Any]:
        return _present(self._beside)

    def traced_inputs(self, workload: Workload) -> list[Any]:
        return self.inputs(workload, 0, "cuda")

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]:
        raise NotImplementedError

    def reference(self, device: str, again: bool = False) -> Entry:
        raise NotImplementedError

    def traced_reference(self) -> Entry:
        return self.reference("cuda")

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        return leaves(self.reference(device)(*inputs))

    def verdict(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
        raise NotImplementedError

    def _need(self, *names: str) -> None:
        for name in names:
            if not hasattr(self._module, name):
                what = f"the problem {self._task.name} does not define {name}"
                raise BadTask(Refusal.NO_INPUTS, what, f"{name} at the top level of the file")


class KernelBenchRuntime(FileRuntime):
    """`Model` built with a fixed seed, fed by `get_inputs`."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, kernelbench.FILE)
        self._need("Model", "get_inputs")
        self._entries: dict[str, Entry] = {}
        with _importing(task):
            given: Any = getattr(self._module, "get_init_inputs", list)()
        if not isinstance(given, list | tuple):
            what = f"get_init_inputs of {task.name} returns a {type(given).__name__}"
            raise BadTask(Refusal.ODD_INPUTS, what, "a list of the arguments of Model")
        self.init_inputs = given

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]:
        drawn = drawn_on(device, seed, self._module.get_inputs)
        return placed(drawn if isinstance(drawn, list | tuple) else [drawn], device)

    def reference(self, device: str, again: bool = False) -> Entry:
        if again:
            return build_model(self._module.Model, self.init_inputs, device)
        if device not in self._entries:
            self._entries[device] = build_model(self._module.Model, self.init_inputs, device)
        return self._entries[device]

    def traced_reference(self) -> Entry:
        return build_model(self._module.Model, self.init_inputs, "cuda")


class GpuModeRuntime(FileRuntime):
    """`ref_kernel` on what `generate_input` returns, and `check_implementation` where the problem writes its own."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, gpumode.FILE)
        self._need("generate_input", "ref_kernel")
        self.own_check = gpumode.has_check(task.files[gpumode.FILE])
        self._returned: Any = None

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]:
        seed %= 1 << 31
        arguments = {**workload.sizes, **workload.arguments}
        data = drawn_on(device, seed, lambda: self._module.generate_input(**arguments, seed=seed))
        several = isinstance(data, tuple | list) and len(data) > 1
        return placed(data if several else (data,), device)

    def reference(self, device: str, again: bool = False) -> Entry:
        kernel = self._module.ref_kernel
        return lambda *inputs: kernel(_data(inputs))

    def expected(self, inputs: Sequence[Any], device: str) -> list[Any]:
        returned = self.reference(device)(*inputs)
        self._returned = rebuilt(returned, iter([None] * len(leaves(returned))))  # the nesting alone
        return leaves(returned)

    def verdict(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
        told = self._module.check_implementation(_data(inputs), rebuilt(self._returned, iter(outputs)))
        if isinstance(told, tuple):
            return "" if told[0] else str(told[1]) or "the problem's own check does not accept it"
        return str(told or "")


class ModuleRuntime(FileRuntime):
    """`reference` on what `inputs` returns for a seed."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, module.FILE)
        self._need("inputs", "reference")

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]:
        arguments = {**workload.sizes, **workload.arguments}
        data = drawn_on(device, seed, lambda: self._module.inputs(seed, **arguments))
        return placed(data if isinstance(data, tuple | list) else (data,), device)

    def reference(self, device: str, again: bool = False) -> Entry:
        entry: Entry = self._module.reference
        return entry


def _data(inputs: Sequence[Any]) -> Any:
    return tuple(inputs) if len(inputs) > 1 else inputs[0]


@contextmanager
def _importing(task: Task) -> Iterator[None]:
    """Errors of a task's files, while they are executed as modules, as refusals."""
    try:
        yield
    except ModuleNotFoundError as error:
        if missing(error) is not None:
            raise  # an extra of Foretell: explained as for any other use of it
        what = f"{task.name} imports {error.name}, which is not installed"
        raise BadTask(
            Refusal.MISSING_PACKAGE, what, "the packages that it imports, installed here", f"install {error.name}"
        ) from error
    except BadTask:
        raise
    except (Exception, SystemExit) as error:
        what = f"{task.name} cannot be imported: {type(error).__name__}: {error}"
        raise BadTask(Refusal.DOES_NOT_IMPORT, what, "a module that can be imported") from error


@contextmanager
def _present(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """These modules under their names, for whatever is imported meanwhile."""
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def drawn_on(device: str, seed: int, draw: Callable[[], Any]) -> Any:
    """What `draw` returns, made on the device where its code allows that (a CPU generator does not)."""
    import torch

    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    torch.manual_seed(seed)
    try:
        with torch.device(device):
            return draw()
    except RuntimeError:
        torch.manual_seed(seed)
        return draw()


def placed(items: Sequence[Any], device: str) -> list[Any]:
    """The arguments with every tensor among them on the device."""
    return [rebuilt(item, iter([on_device(x, device) if is_tensor(x) else x for x in leaves(item)])) for item in items]
