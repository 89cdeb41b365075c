"""The memory of one task on the device: what is lent to which process, and what the judge keeps for itself.

Three allocations, each lent as a whole: `inputs` to all processes, `outputs` (rings and weights) one for the reference
and one for candidates, `expected` to the reference's process alone.
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from foretell.kernels.bench.gpu.exhibit import Place
from foretell.kernels.bench.gpu.platform import Lendable, Platform
from foretell.kernels.program import Program, View
from foretell.kernels.task import Workload

_ALIGNED = 512


class Room:
    """A lent allocation, laid out once: tensors for views, in the order in which they were asked for."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._size = 0
        self._memory: Lendable | None = None
        self._bytes: Any = None
        self._descriptor: int | None = None
        self._ends: list[tuple[int, int]] = []  # of each tensor, and of the room for it
        self._between: Any = None
        self._filler = 0

    def place(self, view: View, dtype: Any) -> Place:
        """Room for a tensor with the shape and strides of a view, and that dtype."""
        assert self._memory is None, "a room is laid out before it is made"
        offset = self._size
        last = sum((side - 1) * stride for side, stride in zip(view.shape, view.strides, strict=True))
        count = last + 1 if all(view.shape) else 0
        self._size += -(-count * dtype.itemsize // _ALIGNED) * _ALIGNED
        self._ends.append((offset + count * dtype.itemsize, self._size))
        return Place(offset, dtype, view.shape, view.strides)

    @property
    def memory(self) -> Lendable:
        """Made when first asked for."""
        if self._memory is None:
            self._memory = self._platform.lendable(max(self._size, _ALIGNED))
        return self._memory

    @property
    def descriptor(self) -> int:
        """By which another process borrows the memory; the room's own, made when first asked for."""
        if self._descriptor is None:
            self._descriptor = self.memory.descriptor()
            weakref.finalize(self, os.close, self._descriptor)
        return self._descriptor

    def tensors(self, places: Sequence[Place]) -> list[Any]:
        return [place.within(self._whole()) for place in places]

    def fill_between(self) -> None:
        """Put another value than before behind every tensor: what was written there is gone."""
        self._filler = (self._filler + 1 + secrets.randbelow(255)) % 256
        if self._between is None:
            places = [place for end, room in self._ends for place in range(end, room)]
            self._between = torch.tensor(places, dtype=torch.int64, device=self._whole().device)
        self._whole()[self._between] = self._filler

    def is_written_between(self) -> bool:
        """Whether anything behind the tensors has changed since they were filled there."""
        return self._between is not None and not bool((self._whole()[self._between] == self._filler).all())

    def _whole(self) -> Any:
        if self._bytes is None:
            self._bytes = self.memory.bytes
        return self._bytes


@dataclass
class Side:
    """What the process of a reference or candidate is lent: rings for outputs by workload and set, and its weights."""

    room: Room
    rings: list[list[list[Place]]]
    weights: list[Place]


@dataclass
class Stage:
    """One workload: `sets` sets of inputs, all lent; the values they hold, kept by the judge; room for expected values.

    `seeds` are those that sets were drawn with by the reference's process, None for values that are kept. `precision`
    is how expected values were computed last.
    """

    workload: Workload
    timed: bool
    reference: Program
    sets: int
    inputs: list[list[Place]]
    expected: list[Place]
    kept: list[list[Any]] = field(default_factory=list)
    seeds: list[int | None] = field(default_factory=list)
    precision: str = ""


def dense(view: View) -> View:
    """A view of the same shape and type without gaps, in row-major order."""
    strides, step = [], 1
    for side in reversed(view.shape):
        strides.append(step)
        step *= max(1, side)
    return View(0, 0, view.dtype, view.shape, tuple(reversed(strides)))


def stage_bytes(program: Program) -> int:
    """Device memory that one set of a workload takes: lent and kept inputs, two rings."""
    inputs = sum(view.end_bytes for view in program.inputs)
    outputs = sum(view.count * view.item_bytes for view in program.outputs)
    return 2 * inputs + 2 * outputs
