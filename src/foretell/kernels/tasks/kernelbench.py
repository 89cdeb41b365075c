"""KernelBench problems: a file with `class Model`, `get_inputs` and `get_init_inputs`, taken as it is."""

from __future__ import annotations

from pathlib import Path

from foretell.kernels.task import Task, Tolerance, Workload, unknown_flops
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.texts import parsed, top_level_names
from foretell.received import name_as_text

KIND = "kernelbench"
FILE = "problem.py"
TOLERANCE = Tolerance(1e-2, 1e-2, "what KernelBench itself accepts between float32 programs")
AS_PUBLISHED = Workload(label="as published")


def from_text(source: str, name: str) -> Task:
    """The task in a problem's text, which is not executed. Raises BadTask if it is not a problem."""
    names = top_level_names(parsed(source, name))
    if "Model" not in names:
        raise BadTask(Refusal.NOT_A_TASK, f"{name} does not define Model", "a class Model and get_inputs()")
    if "get_inputs" not in names:
        raise BadTask(
            Refusal.NO_INPUTS,
            f"{name} does not define get_inputs",
            "get_inputs(), which returns the arguments of Model.forward",
            "add it to the file",
        )
    return Task(
        name=name,
        family=KIND,
        summary=f"the KernelBench problem {name}",
        sizes=(),
        inputs=(),
        outputs=(),
        workloads=(AS_PUBLISHED,),
        extra=(),
        tolerance=TOLERANCE,
        flops=unknown_flops,
        oracle=None,
        references={"torch": source},
        kind=KIND,
        files={FILE: source},
    )


def read(path: Path, source: str) -> Task:
    """The problem in a file whose text was read before."""
    return from_text(source, name_as_text(path.stem))
