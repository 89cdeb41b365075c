"""Whether a candidate is right for other weights than a constructor makes: a bias of zeros, a scale of nearly nothing.

Parameters of the reference are changed by a secret of the judge's, and so are those tensors of a candidate that hold
the same values, whatever their names. Buffers stay (tables that kernels may compute themselves). A candidate that keeps
weights in another form than the reference, or as constants, is checked with the constructor's weights alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from foretell.kernels.bench.gpu.handle import WorkerFailed
from foretell.kernels.bench.gpu.trusted.altered import LEAST_ELEMENTS, fingerprint, perturbed
from foretell.kernels.bench.gpu.trusted.known import WEIGHTS, Known
from foretell.kernels.bench.gpu.trusted.process import Process
from foretell.kernels.bench.gpu.trusted.scene import Scene
from foretell.kernels.bench.gpu.trusted.stage import Side
from foretell.kernels.measurement import Measurement
from foretell.kernels.program import Copy, LibraryCall, Literal, Program, SymbolUpload

CHANGED, AS_MADE = "other weights too", "as made"  # which weights a candidate was checked with


class OtherWeights:
    """The check of one task, on its first workload. Nothing if the reference has no parameters, or cannot deal with
    others.
    """

    def __init__(self, scene: Scene, parameters: Sequence[bool]) -> None:
        self._scene, self._secret = scene, secrets.randbits(62)
        self._known: Known | None = None
        self._all: dict[Any, set[bool]] = {}
        side, program = scene.sides[0], scene.stages[0].reference
        tensors = side.room.tensors(side.weights)
        for tensor, is_parameter in zip(tensors, parameters, strict=False):
            self._all.setdefault(fingerprint(torch, tensor), set()).add(is_parameter and tensor.is_floating_point())
        if any(True in kinds for kinds in self._all.values()):
            try:
                self._known = self._learnt(side, program)
            except torch.OutOfMemoryError:
                scene.let_go()
            except WorkerFailed:  # such as an assertion: then the task is not for these weights
                if not scene.reference.alive:
                    scene.open_reference()
                    return
            scene.load(scene.reference, side, 0, program)

    def _learnt(self, side: Side, program: Program) -> Known | None:
        """What is to be expected with other weights; None if rounding alone makes too much of a difference there."""
        scene = self._scene
        with self._changed(side):
            scene.load(scene.reference, side, 0, program)
            scene.put(0, 0, scene.known[0][0].inputs)
            known = scene.known_now(0, WEIGHTS)
        return scene.bounded(known) if scene.is_tame(known) else None

    def check(self, process: Process, program: Program, loaded: bool) -> tuple[str, Measurement | None]:
        """Which weights a candidate was checked with, and a fault if it is not right with them.

        Its Program is loaded anew afterwards, unless it is `loaded` and has no weights.
        """
        scene = self._scene
        if self._known is None:
            return "", None
        if not program.weights:
            if _constant_bytes(program) >= LEAST_ELEMENTS:
                return AS_MADE, None
            if not loaded:
                scene.load(process, scene.sides[1], 0, program)
            return CHANGED, scene.check(process, 0, [self._known])
        side = scene.sides[1]
        if not all(self._kinds(tensor) for tensor in side.room.tensors(side.weights)):
            return AS_MADE, None
        try:
            with self._changed(side):
                scene.load(process, side, 0, program)
                return CHANGED, scene.check(process, 0, [self._known])
        except torch.OutOfMemoryError:
            scene.let_go()
            return AS_MADE, None

    def _kinds(self, tensor: Any) -> set[bool]:
        """Whether tensors of the reference with these values are parameters: both if some are and some are not, as with
        zeros of one shape; those stay as they are on either side.
        """
        return self._all.get(fingerprint(torch, tensor), set())

    @contextmanager
    def _changed(self, side: Side) -> Iterator[None]:
        """With other values in the parameters among a side's weights."""
        tensors = side.room.tensors(side.weights)
        chosen = [tensor for tensor in tensors if self._kinds(tensor) == {True}]
        kept = [tensor.clone() for tensor in chosen]
        try:
            for tensor in chosen:
                tensor.copy_(perturbed(torch, tensor, self._secret))
            self._scene.settle()
            yield
        finally:
            for tensor, value in zip(chosen, kept, strict=True):
                tensor.copy_(value)
            self._scene.settle()


def _constant_bytes(program: Program) -> int:
    """Bytes of constants of the host's in a Program: weights may be among them."""
    size = 0
    for step in (*program.setup, *program.run):
        if isinstance(step, Copy | SymbolUpload) and isinstance(step.source, bytes):
            size += len(step.source)
        if isinstance(step, LibraryCall):
            values = [*step.arguments, *(value for _, value in step.keywords)]
            size += sum(len(value.data) for value in values if isinstance(value, Literal))
    return size
