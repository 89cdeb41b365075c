"""Looking at what a task's code does before anything is judged by it: each thing that makes it unusable is refused.

Inputs are drawn and the reference is run through here. The library's own tasks are spared the looks that cost a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from foretell.kernels.device import Device
from foretell.kernels.task import Task, Tolerance, Workload
from foretell.kernels.tasks import gpumode
from foretell.kernels.tasks.fits import check_fits
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.runtime import Runtime, runtime_of
from foretell.kernels.tasks.trees import bits, is_tensor, leaves, rebuilt, tensor_bytes_of

INPUT_COPIES = 2  # the judge's own and the lent one
OUTPUT_COPIES = 7  # expected, two bounds, lent, as returned, and those of both programs
BLANK = 113  # whole numbers where a result is to come


def check_size(task: Task, device: Device) -> None:
    """Raises BadTask if the task's data would not fit into the device's memory; says which sizes would."""
    if task.kind == "library":
        return
    check_fits(task, needed_bytes, device.memory_bytes, device.name)


def needed_bytes(task: Task) -> int | None:
    """Device memory that judging the task takes at least, by its shapes alone; None if only running it could tell."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    total = 0
    try:
        runtime = runtime_of(task)  # one of its own: what the code keeps of fake tensors must not reach real ones
        with FakeTensorMode(allow_non_fake_inputs=True):
            reference = runtime.traced_reference()
            for workload in (*task.workloads, *task.extra):
                inputs = runtime.traced_inputs(workload)
                total += INPUT_COPIES * tensor_bytes_of(inputs)
                total += OUTPUT_COPIES * tensor_bytes_of(reference(*inputs))
    except (Exception, SystemExit):  # whatever foreign code does where there is no data: it then has to be run
        return total or None
    return total


def draw(task: Task, runtime: Runtime, workload: Workload, seed: int, device: str) -> list[Any]:
    """Inputs from a seed. Raises BadTask if they cannot be made, or are something that cannot be lent."""
    if task.kind == "library":
        return runtime.inputs(workload, seed, device)
    inputs = _guarded(task, workload, "making its inputs", lambda: runtime.inputs(workload, seed, device))
    odd = [leaf for leaf in leaves(inputs) if not is_tensor(leaf) and not _is_plain(leaf)]
    if odd:
        what = f"an input of {task.name} at {workload.name} is a {type(odd[0]).__name__}"
        raise BadTask(Refusal.ODD_INPUTS, what, "tensors, numbers and texts, also in lists, tuples and dicts")
    if not any(is_tensor(leaf) for leaf in leaves(inputs)):
        what = f"there is no tensor among the inputs of {task.name} at {workload.name}"
        raise BadTask(Refusal.ODD_INPUTS, what, "at least one tensor")
    return list(inputs)


@dataclass(frozen=True)
class Look:
    """What the reference did with one set of inputs.

    `outputs` are flat: the types and shapes that a candidate must match. `destinations` are the inputs, by their place
    among the leaves, that are room for results: what they hold beforehand does not matter, and they may be written.
    """

    outputs: list[Any]
    destinations: frozenset[int] = frozenset()


def look(task: Task, runtime: Runtime, workload: Workload, inputs: Sequence[Any], device: str) -> Look:
    """Run the reference and see that it can be judged by.

    Raises BadTask if it fails, returns something else than tensors of numbers, changes its inputs, or returns something
    else when it is made and run once more.
    """
    if task.kind == "library":
        return Look(leaves(runtime.reference(device)(*inputs)))
    run = partial(_run, task, runtime, workload, device)
    first, changed = run(inputs, again=False)
    second, _ = run(inputs, again=True)
    if not _all_alike(first, second, task.tolerance):
        what = f"{task.name} gives other results for the same inputs and weights at {workload.name}"
        do = "set seeds in it, put layers such as dropout into eval mode, or take random numbers as inputs"
        raise BadTask(Refusal.NONDETERMINISTIC, what, "a function of its inputs", do)
    found = _destinations(task, run, inputs, first) if task.kind == gpumode.KIND else frozenset()
    if changed - found:
        what = f"the reference of {task.name} changes its input {min(changed - found)}"
        raise BadTask(Refusal.CHANGES_INPUTS, what, "a reference that leaves its inputs as they are", "clone it first")
    for leaf in first:
        if leaf.is_floating_point() and bool((leaf.float() if leaf.element_size() == 1 else leaf).isnan().any()):
            what = f"the reference of {task.name} returns values that are not numbers (NaN) at {workload.name}"
            raise BadTask(Refusal.ODD_OUTPUTS, what, "numbers, which a candidate's can be compared with")
    return Look(first, found)


def blanked(inputs: Sequence[Any], destinations: Collection[int]) -> list[Any]:
    """The inputs with nothing that could be a result in those that are room for results; others are not copied."""
    blank = []
    for position, leaf in enumerate(leaves(list(inputs))):
        if position in destinations:
            leaf = leaf.clone().fill_(float("nan") if leaf.is_floating_point() else BLANK)
        blank.append(leaf)
    return list(rebuilt(list(inputs), iter(blank)))


def _destinations(task: Task, run: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> frozenset[int]:
    """Inputs of an output's shape and type that do not decide what comes out."""
    kinds = {(tuple(leaf.shape), leaf.dtype) for leaf in outputs}
    fitting = [
        position
        for position, leaf in enumerate(leaves(list(inputs)))
        if is_tensor(leaf) and (tuple(leaf.shape), leaf.dtype) in kinds
    ]
    return frozenset(
        position
        for position in fitting
        if _all_alike(outputs, run(blanked(inputs, [position]), again=False)[0], task.tolerance)
    )


def _run(
    task: Task, runtime: Runtime, workload: Workload, device: str, inputs: Sequence[Any], again: bool
) -> tuple[list[Any], frozenset[int]]:
    """The reference's outputs for copies of the inputs, and which of these it changed; made anew if `again`."""
    import torch

    before = leaves(list(inputs))
    copies = [x.clone() if is_tensor(x) else x for x in before]
    arguments = rebuilt(list(inputs), iter(copies))
    entry = _guarded(task, workload, "its model", lambda: runtime.reference(device, again))
    torch.manual_seed(1 + again)  # random numbers that it draws while it runs are others each time
    with torch.no_grad():
        found = leaves(_guarded(task, workload, "its reference", lambda: entry(*arguments)))
    odd = [leaf for leaf in found if not is_tensor(leaf)]
    if odd or not found:
        kind = type(odd[0]).__name__ if odd else "nothing"
        what = f"the reference of {task.name} returns {kind} among its outputs"
        raise BadTask(Refusal.ODD_OUTPUTS, what, "tensors, also in lists, tuples and dicts", "return the tensors alone")
    pairs = enumerate(zip(before, copies, strict=True))
    return found, frozenset(place for place, (one, other) in pairs if is_tensor(one) and not _same(one, other))


def _guarded(task: Task, workload: Workload, what: str, act: Any) -> Any:
    """What a task's code returns; what it raises is a refusal."""
    import torch

    try:
        return act()
    except BadTask:
        raise
    except torch.OutOfMemoryError as error:
        sentence = f"{task.name} does not fit into the device's memory at {workload.name}: {what} failed"
        raise BadTask(Refusal.TOO_LARGE, sentence, "data that fits", "use smaller sizes (--size)") from error
    except (Exception, SystemExit) as error:
        sentence = f"{what} fails for {task.name} at {workload.name}: {type(error).__name__}: {error}"
        raise BadTask(Refusal.DOES_NOT_RUN, sentence, "code that runs on this device") from error


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _same(one: Any, other: Any) -> bool:
    return bool((bits(one) == bits(other)).all())


def _all_alike(ones: Sequence[Any], others: Sequence[Any], tolerance: Tolerance) -> bool:
    return len(ones) == len(others) and all(_alike(a, b, tolerance) for a, b in zip(ones, others, strict=True))


def _alike(one: Any, other: Any, tolerance: Tolerance) -> bool:
    import torch

    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return bool(torch.equal(one, other))
    return bool(torch.allclose(one.float(), other.float(), tolerance.relative, tolerance.absolute, equal_nan=True))
