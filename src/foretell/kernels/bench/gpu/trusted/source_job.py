"""The code of a problem, or the model of a candidate, run for its data alone: inputs by seed, weights by name.

Foreign code runs here, behind the sandbox's walls. It is lent the memory that its data goes to and nothing else, and a
candidate's process of this kind ends before anything of the candidate is run.
"""

from __future__ import annotations

from typing import Any

import torch

from foretell.kernels.bench.gpu.trusted.commands import Lent, Obey
from foretell.kernels.bench.gpu.trusted.entries import entry
from foretell.kernels.languages.extension import is_bare
from foretell.kernels.record.recorder import tensors_in, tensors_of
from foretell.kernels.record.replay import copy_into


class NoWeight(Exception):
    """A model has no tensor of a name that its recording has."""


def make(platform: Any, lent: Lent) -> Obey:
    """What obeys the judge's commands: `task`, `draw`, `weights`."""
    torch.set_grad_enabled(False)
    return _Source(platform, lent).obey


class _Source:
    def __init__(self, platform: Any, lent: Lent) -> None:
        self._platform, self._lent = platform, lent
        self._task: Any = None
        self._runtime: Any = None
        self._source: str | None = None
        self._files: dict[str, bytes] = {}

    def obey(self, command: dict[str, Any]) -> dict[str, Any] | None:
        match command["do"]:
            case "task":
                from foretell.kernels.tasks import from_spec
                from foretell.kernels.tasks.runtime import runtime_of

                self._task = from_spec(command["spec"])
                self._runtime = runtime_of(self._task)
                self._source, self._files = command["source"], command["files"]
            case "draw":
                self._draw(command)
            case "weights":
                parameters = self._weights(command)
                self._platform.synchronize()
                return {"parameters": parameters}
            case other:
                raise ValueError(f"unknown command {other!r}")
        self._platform.synchronize()
        return None

    def _inputs(self, workload: int, seed: int) -> list[Any]:
        from foretell.kernels.tasks.examine import draw

        chosen = [*self._task.workloads, *self._task.extra][workload]
        return draw(self._task, self._runtime, chosen, seed, self._platform.device)

    def _draw(self, command: dict[str, Any]) -> None:
        tensors = tensors_in(self._inputs(command["workload"], command["seed"]))
        for target, value in zip(self._lent.tensors("inputs", command["inputs"]), tensors, strict=True):
            copy_into(target, value)

    def _weights(self, command: dict[str, Any]) -> list[bool]:
        """Hand over the weights of these names; says which of them are parameters."""
        source = None if self._source is None or is_bare(self._source) else self._source
        called = entry(self._runtime, source, self._files, self._platform.device)
        tensors = tensors_of(getattr(called, "model", None))
        if not set(command["names"]) <= set(tensors):  # a model may make some when it is first called
            called(*self._inputs(command["workload"], 0))
            tensors = tensors_of(getattr(called, "model", None))
        for name, target in zip(command["names"], self._lent.tensors("outputs", command["weights"]), strict=True):
            if name not in tensors:
                raise NoWeight(f"its model has no tensor {name}")
            copy_into(target, tensors[name])
        return [isinstance(tensors[name], torch.nn.Parameter) for name in command["names"]]
