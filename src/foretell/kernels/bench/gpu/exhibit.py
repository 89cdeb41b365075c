"""What the judge shows of a task: the data of each workload, and the device memory that is lent to the worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.bench.gpu.platform import Lendable, Platform
from foretell.kernels.task import Workload
from foretell.kernels.tasks.trees import is_tensor, leaves, rebuilt


@dataclass
class Exhibit:
    """One workload on the device: input sets lent to the worker, kept copies, expected outputs, and output buffers.

    `bounds` hold what each output must lie between, in the output's own type. A workload is checked on the sets
    `checked` and timed on the sets `timed`; where memory allows one set only, new data is put into it for each of
    `redraws` further checks. Inputs are arguments, which may be nested; outputs are flat. `destinations` are inputs
    (by their place among the leaves) that a candidate may write its results to.
    """

    workload: Workload
    checked: list[int]
    timed: list[int]
    redraws: int
    kept: list[list[Any]]
    expected: list[list[Any]]
    bounds: list[list[tuple[Any, Any]]]
    inputs: list[list[Any]] = field(default_factory=list)
    rings: list[list[Any]] = field(default_factory=list)
    destinations: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Place:
    """Where in an arena a tensor lies."""

    offset_bytes: int
    dtype: Any
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @staticmethod
    def of(tensor: Any, start: int) -> Place:
        """The place of a tensor in an arena that starts at that address."""
        offset = tensor.data_ptr() - start if tensor.numel() else 0
        return Place(offset, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))

    def within(self, memory: Any) -> Any:
        """The tensor, in the arena as bytes."""
        reach = sum((size - 1) * stride for size, stride in zip(self.shape, self.stride, strict=True)) + 1
        count = reach * self.dtype.itemsize if all(self.shape) else 0
        flat = memory[self.offset_bytes : self.offset_bytes + count].view(self.dtype)
        return flat.as_strided(self.shape, self.stride)


def found_in(memory: Any, tree: Any) -> Any:
    """A tree of places as one of tensors in the arena, whose bytes are a tensor too."""
    return rebuilt(tree, iter([leaf.within(memory) if isinstance(leaf, Place) else leaf for leaf in leaves(tree)]))


class Arena:
    """Device memory lent to the worker: one allocation for all tensors of a task, used again for the next."""

    _ALIGNED = 512

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._memory: Lendable | None = None

    @property
    def size(self) -> int:
        return 0 if self._memory is None else self._memory.size

    def descriptor(self) -> int:
        """By which another process borrows the arena; for the caller to close."""
        assert self._memory is not None
        return self._memory.descriptor()

    def places(self, tree: Any) -> Any:
        """A tree of tensors in the arena and of plain values, with each tensor's place instead of it."""
        assert self._memory is not None
        start = self._memory.bytes.data_ptr()
        found = [Place.of(leaf, start) if is_tensor(leaf) else leaf for leaf in leaves(tree)]
        return rebuilt(tree, iter(found))

    def place(self, likes: Sequence[Any]) -> list[Any]:
        """A tensor like each given one, all in the arena; what is not a tensor is passed on."""
        import torch

        sizes = [
            -(-t.numel() * t.element_size() // self._ALIGNED) * self._ALIGNED if is_tensor(t) else 0 for t in likes
        ]
        if self._memory is None or self._memory.size < sum(sizes):
            self._memory = None
            self._memory = self._platform.lendable(max(sum(sizes), self._ALIGNED))
        memory, placed, at = self._memory.bytes, [], 0
        for like, size in zip(likes, sizes, strict=True):
            if not is_tensor(like):
                placed.append(like)
                continue
            flat = memory[at : at + like.numel() * like.element_size()].view(like.dtype)
            dense = torch.empty_like(like, device="meta")
            placed.append(flat.as_strided(dense.shape, dense.stride()))
            at += size
        return placed
