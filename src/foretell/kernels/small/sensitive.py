"""How close a task's results are to a step: what rounding alone, here or there, does to them at small sizes.

A task that rounds its results (to 8 bits, to an index) tells right programs wrong that round elsewhere: a few values of
millions change by a whole step. Which tasks do so is seen on the reference alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretell.kernels.small.emulated import SEED
from foretell.kernels.small.outcome import compared
from foretell.kernels.tasks.trees import is_tensor, leaves, rebuilt

if TYPE_CHECKING:
    from foretell.kernels.task import Task

MOVED = 2.0**-13  # relative change of float32 inputs: far below tolerances, far above rounding


@dataclass(frozen=True)
class Sensitivity:
    """`steps`: the share of values that leave the tolerance if inputs move by `MOVED`. `narrow_log2`: log2 of the
    largest error over the tolerance of the same model in float32, for one that computes in less."""

    steps: float = 0.0
    narrow_log2: float = 0.0


def sensitivity(task: Task) -> Sensitivity:
    """The sensitivity of a task of small sizes; its code runs in this process."""
    import torch

    from foretell.kernels.tasks.runtime import runtime_of

    runtime, workload = runtime_of(task), task.workloads[0]
    inputs = runtime.inputs(workload, SEED, "cpu")
    expected = [each.clone() for each in runtime.expected(inputs, "cpu")]
    signs = torch.Generator().manual_seed(SEED)

    def moved(leaf: Any) -> Any:
        if not is_tensor(leaf) or leaf.dtype != torch.float32:
            return leaf
        return leaf * (1 + MOVED * (2 * torch.rand(leaf.shape, generator=signs) - 1))

    inputs = runtime.inputs(workload, SEED, "cpu")
    near = runtime.expected(rebuilt(inputs, iter([moved(each) for each in leaves(inputs)])), "cpu")
    steps = compared(torch, near, expected, task.tolerance)[2]
    return Sensitivity(steps, _narrow(torch, task, runtime, expected))


def _narrow(torch: Any, task: Task, runtime: Any, expected: Any) -> float:
    """How far the model in float32 is from the one in half precision; 0 if it does not run so."""
    inputs = runtime.inputs(task.workloads[0], SEED, "cpu")
    halves = (torch.float16, torch.bfloat16)
    wide = [each.float() if is_tensor(each) and each.dtype in halves else each for each in leaves(inputs)]
    entry = runtime.reference("cpu", again=True)
    model = getattr(entry, "model", None)
    try:
        if model is not None:
            model.float()
        outputs = leaves(entry(*rebuilt(inputs, iter(wide))))
        return compared(torch, outputs, expected, task.tolerance)[0]
    except Exception:  # a model that names its types
        return 0.0
