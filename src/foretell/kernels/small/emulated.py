"""A candidate's Program executed without a GPU on a task of small sizes, and compared with the reference.

Only for a process in the sandbox: the task's code runs here. The candidate's host code does not; it left a recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.kernels.small.like_cuda import like_cuda
from foretell.kernels.small.outcome import AGREES, DIFFERS, MOST_EXCESS_LOG2, NOT_RUN, Outcome, compared

if TYPE_CHECKING:
    from foretell.kernels.program import Program
    from foretell.kernels.task import Task

SEED = 0


def emulated(task: Task, program: Program) -> Outcome:
    """How a Program for the task's first workload does. A kernel that cannot be executed to its end is `not run`."""
    import torch

    from foretell.kernels.bench.gpu.compare import mismatch
    from foretell.kernels.emulate.machine import TooLong
    from foretell.kernels.emulate.memory import Fault
    from foretell.kernels.emulate.module import Emulation
    from foretell.kernels.emulate.values import NotEmulated
    from foretell.kernels.record.recorder import tensors_in, tensors_of
    from foretell.kernels.record.replay import ReplayError
    from foretell.kernels.tasks.runtime import runtime_of
    from foretell.kernels.tasks.trees import leaves

    runtime, workload = runtime_of(task), task.workloads[0]
    reference = runtime.reference("cpu")
    with like_cuda():
        expected = [each.clone() for each in leaves(reference(*runtime.inputs(workload, SEED, "cpu")))]
    weights = tensors_of(getattr(reference, "model", None))
    emulation = Emulation(program)
    try:
        with torch.no_grad(), like_cuda():
            emulation.setup(weights)
            outputs = emulation.run(tensors_in(runtime.inputs(workload, SEED, "cpu")))
    except (Fault, NotEmulated, TooLong, ReplayError) as error:
        return Outcome(NOT_RUN, str(error))
    strays = emulation.strays.loads + emulation.strays.stores
    if [tuple(each.shape) for each in outputs] != [tuple(each.shape) for each in expected]:
        shapes = ", ".join(str(tuple(each.shape)) for each in outputs)
        return Outcome(DIFFERS, f"its outputs have the shapes {shapes}", MOST_EXCESS_LOG2, 0.0, 1.0, strays)
    figures = compared(torch, outputs, expected, task.tolerance)
    for output, want in zip(outputs, expected, strict=True):
        wrong = mismatch(torch, output, want, task.tolerance)
        if wrong:
            return Outcome(DIFFERS, wrong, *figures, strays)
    return Outcome(AGREES, "", *figures, strays)
