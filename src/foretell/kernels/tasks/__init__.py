"""Tasks from every source as the one value `Task`: a name of the library, or the path of a file or folder.

`load` and `from_spec` read texts and execute nothing of them; what executes a task's code is `runtime`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from foretell.kernels import library
from foretell.kernels.limits import PROGRAM, TASK_LIMITS
from foretell.kernels.task import (
    FILLS,
    INDEX,
    ITEM_BYTES,
    Task,
    Tensor,
    Tolerance,
    Workload,
    evaluate_size,
    tensor_bytes,
    unknown_flops,
)
from foretell.kernels.tasks import cpu, flashinfer, gpumode, kernelbench, module
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.sizes import resized
from foretell.kernels.tasks.texts import parsed, read_text, top_level_names
from foretell.kernels.typed import all_text, typed
from foretell.received import NotText
from foretell.received_limits import SOURCE_MEMORY_BYTES, size_of, within_limits

__all__ = ["BadTask", "Refusal", "from_spec", "is_path", "load", "of_run"]

_TENSORS = ("inputs", "outputs")
_MOST_BYTES = 1 << 128  # of a tensor: more than any machine has, and sums of them are still finite
_NOT_A_SPEC = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)
FORMS = (
    "a module with reference(*inputs) and inputs(seed), a KernelBench problem (class Model, get_inputs), a GPU MODE "
    "folder (reference.py with generate_input and ref_kernel, and task.yml) or a FlashInfer-Bench definition (JSON)"
)
_KERNELS = frozenset({".cpp", ".cc", ".cxx", ".cu"})  # endings that no source of a task has


def load(reference: str | Path, device: str = "cpu", sizes: Mapping[str, int] | None = None) -> Task:
    """The task that a name or path stands for.

    Args:
        reference: Name of a task of the library, or path of a file or folder of another source.
        device: Kind of device, `cpu` or `gpu`, at whose sizes a task of the library is wanted.
        sizes: Sizes to change: of its workloads, or whole numbers at the top level of its file.

    Raises:
        library.UnknownTask: There is no such task in the library.
        BadTask: The file or folder is not a task, or does not have such sizes.
    """
    if Path(reference).suffix in _KERNELS:
        raise BadTask(
            Refusal.NOT_A_TASK,
            f"{reference} is a kernel, not a task",
            "the name of a task, or a file that describes one",
            "name its task first: foretell measure TASK FILE",
        )
    in_library = isinstance(reference, str) and not is_path(reference)
    if in_library:
        task = library.get(str(reference), device)
    else:
        with within_limits(reference, size_of(Path(reference)), SOURCE_MEMORY_BYTES):
            task = _written(Path(reference))
    if sizes:
        task = resized(task, sizes)
    return cpu.examined(task) if task.kind == module.KIND and task.device_kind == "cpu" else task


def _written(path: Path) -> Task:
    """The task in a file or folder, which can be kept in files and read from them again. Raises BadTask."""
    try:
        task = _read(path)
    except NotText as error:
        raise BadTask(Refusal.NOT_READABLE, f"{path}: {error}", "texts of whole characters") from None
    try:
        from_spec(task.spec)
    except _NOT_A_SPEC as error:
        raise BadTask(Refusal.NOT_A_TASK, f"{path} is not a task: {error}", FORMS) from error
    return task


def _read(path: Path) -> Task:
    """The task in a file or folder, as far as its text tells."""
    if path.is_dir():
        path = path / gpumode.FILE
        if not path.exists():
            raise BadTask(Refusal.NOT_A_TASK, f"{path.parent} holds no task", FORMS, "name the file in it")
    source = read_text(path)
    if path.suffix == ".json":
        return flashinfer.read(path, source)
    names = top_level_names(parsed(source, str(path)))
    if "Model" in names:
        return kernelbench.read(path, source)
    if {"generate_input", "ref_kernel"} <= names:
        return gpumode.read(path, source)
    if {"reference", "inputs"} & names:
        return module.read(path, source)
    raise BadTask(Refusal.NOT_A_TASK, f"{path} is not a task", FORMS)


def is_path(reference: str) -> bool:
    """Whether a word names a file or folder rather than a task of the library."""
    path = Path(reference)
    if "/" in reference or path.suffix in (".py", ".json"):
        return True
    return path.is_dir() and not any(reference in library.tasks(kind) for kind in ("cpu", "gpu"))


def of_run(config: Mapping[str, Any], device: str) -> Task:
    """The task of a run on a kind of device, from the configuration in its journal.

    Raises:
        library.UnknownTask: It was a task of the library that is no longer there.
        BadTask: The configuration's task makes no sense.
    """
    if "task_spec" not in config:
        return library.get(str(config["task"]), device)
    try:
        return from_spec(config["task_spec"])
    except _NOT_A_SPEC as error:
        what = f"the run's task is not one that was written by Foretell: {error!r}"
        raise BadTask(Refusal.NOT_READABLE, what, "a run's journal as Foretell wrote it") from error


def from_spec(spec: Mapping[str, Any]) -> Task:
    """The task whose `spec` this is. Raises KeyError, TypeError or ValueError if it is not a spec."""
    if max(len(spec["workloads"]), len(spec["extra"])) > TASK_LIMITS.listed_workloads:
        raise ValueError(f"it has more than {TASK_LIMITS.listed_workloads} workloads")
    workloads, extra = (tuple(typed(Workload(**each)) for each in spec[group]) for group in ("workloads", "extra"))
    tolerance = typed(Tolerance(**spec["tolerance"]))
    if spec["kind"] == "library":
        known = library.get(spec["name"], spec["device"])
        return replace(known, workloads=workloads, extra=extra, tolerance=tolerance)
    files, sizes = dict(spec["files"]), tuple(spec["sizes"])
    texts = (spec["name"], spec["family"], spec["summary"], spec["kind"])
    if not all_text((*texts, *sizes, *files, *files.values())):
        raise ValueError("its names and files are not texts")
    _check_work(spec, workloads + extra)
    inputs, outputs = (tuple(_tensor(each, workloads + extra) for each in spec[group]) for group in _TENSORS)
    return Task(
        name=spec["name"],
        family=spec["family"],
        summary=spec["summary"],
        sizes=sizes,
        inputs=inputs,
        outputs=outputs,
        workloads=workloads,
        extra=extra,
        tolerance=tolerance,
        flops=unknown_flops,
        oracle=None,
        references={language: files[name] for language, name in spec["references"].items()},
        kind=spec["kind"],
        files=files,
    )


def _check_work(spec: Mapping[str, Any], workloads: Sequence[Workload]) -> None:
    """ValueError if working out all sides of a spec's tensors at all its workloads takes long, though each is short."""
    limits = TASK_LIMITS
    if max(len(spec[group]) for group in _TENSORS) > limits.listed_tensors:
        raise ValueError(f"it has more than {limits.listed_tensors} inputs or outputs")
    if max((len(workload.sizes) for workload in workloads), default=0) > limits.listed_sizes:
        raise ValueError(f"it has more than {limits.listed_sizes} sizes")
    longest = max((len(tensor["shape"]) for group in _TENSORS for tensor in spec[group]), default=0)
    if longest > PROGRAM.rank:
        raise ValueError(f"a tensor has {longest} sides; at most {PROGRAM.rank} are accepted")
    sides = [side for group in _TENSORS for tensor in spec[group] for side in (*tensor["shape"], tensor["fill"])]
    if len(sides) * len(workloads) > limits.listed_sides:
        raise ValueError(f"its tensors have more than {limits.listed_sides} sides at all its workloads together")
    if sum(len(side) for side in sides if isinstance(side, str)) * len(workloads) > limits.side_characters:
        raise ValueError(f"the sides of its tensors at all its workloads take over {limits.side_characters} characters")


def _tensor(plain: Mapping[str, Any], workloads: Sequence[Workload]) -> Tensor:
    """A tensor of a spec; ValueError if it is not one that has a size and can be filled at every workload."""
    tensor = typed(Tensor(plain["name"], plain["dtype"], tuple(plain["shape"]), plain["fill"]))
    if tensor.dtype not in ITEM_BYTES:
        raise ValueError(f"the tensor {tensor.name} has a type that no tensor has")
    try:
        is_negative = any(side < 0 for workload in workloads for side in tensor.dims(workload.sizes))
        is_huge = any(tensor_bytes(tensor, workload.sizes) > _MOST_BYTES for workload in workloads)
        can_be_filled = tensor.fill in FILLS or all(_index_bound(tensor, workload) > 0 for workload in workloads)
    except (SyntaxError, LookupError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"the tensor {tensor.name} has no shape: {type(error).__name__}") from error
    if is_negative or is_huge or not can_be_filled:
        raise ValueError(f"the tensor {tensor.name} has a shape or fill that no tensor has")
    return tensor


def _index_bound(tensor: Tensor, workload: Workload) -> int:
    """How many values a tensor of indices has; 0 if it holds something else."""
    kind, _, bound = tensor.fill.partition(INDEX)
    return evaluate_size(bound, workload.sizes) if bound and not kind else 0
