"""Candidates that cannot be recorded, run as they are: one process each, behind the sandbox's walls, without a clock.

The process says when a batch of runs is done and nothing else. The judge times batches from outside and looks at the
outputs as soon as they are said to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from foretell.kernels.bench.gpu.session import Refused, poison
from foretell.kernels.bench.gpu.trusted.commands import Lent, Obey
from foretell.kernels.bench.gpu.trusted.entries import entry
from foretell.kernels.bench.gpu.watch import Watch, watch_for
from foretell.kernels.record.recorder import tensors_in
from foretell.kernels.tasks.trees import is_tensor, leaves, rebuilt


def make(platform: Any, lent: Lent) -> Obey:
    """The handler of the judge's commands: `source`, `check`, `batch`."""
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    return _Live(platform, lent).obey


class _Live:
    """A reference or candidate on the lent inputs of each workload."""

    def __init__(self, platform: Any, lent: Lent) -> None:
        self._platform, self._lent = platform, lent
        self._entry: Any = None
        self._watch: Callable[[], Watch] | None = None
        self._arguments: list[list[Any]] = []
        self._rings: list[list[list[Any]]] = []
        self._flush = torch.empty(platform.flush_bytes // 4, dtype=torch.int32, device=platform.device)

    def obey(self, command: dict[str, Any]) -> dict[str, Any] | None:
        match command["do"]:
            case "source":
                self._load(command)
            case "check":
                self._batch(command["workload"], command["sets"])
            case "batch":
                self._batch(command["workload"], command["order"])
            case other:
                raise ValueError(f"unknown command {other!r}")
        self._platform.synchronize()
        return None

    def _load(self, command: dict[str, Any]) -> None:
        from foretell.kernels.tasks import from_spec
        from foretell.kernels.tasks.examine import draw
        from foretell.kernels.tasks.runtime import runtime_of

        torch.backends.cudnn.allow_tf32 = command["cudnn_tf32"]
        task, device = from_spec(command["spec"]), self._platform.device
        runtime = runtime_of(task)
        for workload, inputs, rings in zip(
            [*task.workloads, *task.extra], command["inputs"], command["outputs"], strict=True
        ):
            drawn = draw(task, runtime, workload, 0, device)
            lent = [self._lent.tensors("inputs", places) for places in inputs]
            self._arguments.append([_with(drawn, tensors) for tensors in lent])
            self._rings.append([self._lent.tensors("outputs", places) for places in rings])
        if command["source"] is not None:
            self._watch = partial(watch_for, command["language"], task.library_calls)
        self._entry = entry(runtime, command["source"], command["files"], device)

    def _called(self, arguments: list[Any]) -> list[Any]:
        """The outputs; of each call of a candidate it is seen whether it lets torch compute where it must not."""
        if self._watch is None:
            return leaves(self._entry(*arguments))
        with self._watch() as watch:
            outputs = leaves(self._entry(*arguments))
        fault = watch.verdict(arguments)
        if fault:
            raise Refused("cheat", fault)
        return outputs

    def _batch(self, workload: int, order: Sequence[int]) -> None:
        for number in order:
            self._flush.zero_()
            outputs = self._called(self._arguments[workload][number])
            rings = self._rings[workload][number]
            if len(outputs) != len(rings):
                raise Refused("wrong", f"returned {len(outputs)} outputs, expected {len(rings)}")
            for place, (ring, output) in enumerate(zip(rings, outputs, strict=True)):
                if not is_tensor(output) or output.shape != ring.shape or output.dtype != ring.dtype:
                    kind = f"{tuple(output.shape)} {output.dtype}" if is_tensor(output) else type(output).__name__
                    raise Refused("wrong", f"output {place} is {kind}, expected {tuple(ring.shape)} {ring.dtype}")
                ring.copy_(output)
                poison(torch.empty_like(ring))  # so that memory handed out next holds no old result


def _with(drawn: list[Any], tensors: list[Any]) -> list[Any]:
    """The arguments of a call with lent tensors in the place of drawn ones."""
    lent = dict(zip((id(tensor) for tensor in tensors_in(drawn)), tensors, strict=True))
    return list(rebuilt(drawn, iter([lent.get(id(leaf), leaf) for leaf in leaves(drawn)])))
