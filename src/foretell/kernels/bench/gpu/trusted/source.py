"""Where a task's inputs and weights come from: the library's own fills, or the problem's code behind walls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from foretell.kernels.bench.gpu.handle import WorkerFailed
from foretell.kernels.bench.gpu.platform import Platform
from foretell.kernels.bench.gpu.trusted.process import Process
from foretell.kernels.bench.gpu.trusted.stage import Room, Side, Stage
from foretell.kernels.languages import built
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.program import Program
from foretell.kernels.record.replay import copy_into
from foretell.kernels.task import Task, Tensor
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.runtime import drawn_inputs


class Source(Protocol):
    """Draws a set of inputs into lent memory: every element anew. Returns copies that the judge alone has, if any.

    With `fills`, which say how each tensor is drawn, the reference's process can do so too, and `values` are what it
    draws with a seed.
    """

    @property
    def fills(self) -> Sequence[Tensor]: ...

    def values(self, stage: Stage, seed: int) -> list[Any]: ...

    def draw(self, index: int, stage: Stage, number: int, seed: int) -> list[Any] | None: ...

    def close(self) -> None: ...


class LibrarySource:
    """A task of the library, whose inputs are described by their shapes and fills: drawn in the judge's process."""

    def __init__(self, task: Task, platform: Platform, inputs: Room) -> None:
        self._platform, self._inputs = platform, inputs
        self.fills: Sequence[Tensor] = task.inputs

    def values(self, stage: Stage, seed: int) -> list[Any]:
        return drawn_inputs(self.fills, stage.workload.sizes, seed, self._platform.device)

    def draw(self, index: int, stage: Stage, number: int, seed: int) -> list[Any] | None:
        drawn = self.values(stage, seed)
        for target, value in zip(self._inputs.tensors(stage.inputs[number]), drawn, strict=True):
            copy_into(target, value)
        return drawn

    def close(self) -> None:
        """It holds nothing."""


class ProblemSource:
    """A problem whose code makes its inputs: in a process of its own, which is told a seed for every draw."""

    def __init__(self, task: Task, process: Process, inputs: Room, effort: GpuEffort) -> None:
        self._task, self._process, self._inputs, self._effort = task, process, inputs, effort
        self.fills: Sequence[Tensor] = ()  # its code draws, and no other process runs that
        self._open()

    def values(self, stage: Stage, seed: int) -> list[Any]:
        raise NotImplementedError("its code draws, in a process of its own")

    def _open(self) -> None:
        self._process.renew()
        self._process.lend("inputs", self._inputs, self._effort.open_timeout_s)
        self._ask("task", spec=self._task.spec, source=None, files={})

    def draw(self, index: int, stage: Stage, number: int, seed: int) -> list[Any] | None:
        if not self._process.alive:
            self._open()
        self._ask("draw", workload=index, seed=seed, inputs=stage.inputs[number])
        return None

    def close(self) -> None:
        self._process.close()

    def _ask(self, do: str, **details: Any) -> None:
        try:
            self._process.ask(do, self._effort.task_timeout_s, **details)
        except WorkerFailed as failure:
            what = f"making the inputs of {self._task.name} fails: {failure}"
            raise BadTask(Refusal.DOES_NOT_RUN, what, "code that returns tensors") from failure


def fetch_weights(
    task: Task,
    process: Process,
    side: Side,
    program: Program,
    workload: int,
    source: str | None,
    effort: GpuEffort,
) -> list[bool]:
    """Have the weights of a reference or candidate (`source`) put into its side, by a process that then ends.

    Returns which of them are parameters, as far as its code says. Raises WorkerFailed if its code fails.
    """
    if not program.weights:
        return []
    process.renew()
    try:
        process.lend("outputs", side.room, effort.open_timeout_s)
        files = built.files_of(source, built.problem_of(task.spec)) if source is not None else {}
        process.ask("task", effort.task_timeout_s, spec=task.spec, source=source, files=files)
        names = [weight.name for weight in program.weights]
        answer = process.ask("weights", effort.task_timeout_s, names=names, weights=side.weights, workload=workload)
        said = answer.get("parameters")
        return [each is True for each in said] if isinstance(said, list) and len(said) == len(names) else []
    finally:
        process.stop()
