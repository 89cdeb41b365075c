"""What the judge shows of a task: the data of each workload, and the device memory that is lent to the worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.bench.gpu.platform import Platform
from foretell.kernels.task import Workload
from foretell.kernels.tasks.trees import is_tensor


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


class Arena:
    """Device memory lent to the worker: one allocation for all tensors of a task, used again for the next."""

    _ALIGNED = 512

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._memory: Any = None

    def place(self, likes: Sequence[Any]) -> list[Any]:
        """A tensor like each given one, all in the arena; what is not a tensor is passed on."""
        import torch

        sizes = [
            -(-t.numel() * t.element_size() // self._ALIGNED) * self._ALIGNED if is_tensor(t) else 0 for t in likes
        ]
        if self._memory is None or self._memory.numel() < sum(sizes):
            self._memory = None
            self._memory = self._platform.lendable(max(sum(sizes), self._ALIGNED))
        placed, at = [], 0
        for like, size in zip(likes, sizes, strict=True):
            if not is_tensor(like):
                placed.append(like)
                continue
            flat = self._memory[at : at + like.numel() * like.element_size()].view(like.dtype)
            dense = torch.empty_like(like, device="meta")
            placed.append(flat.as_strided(dense.shape, dense.stride()))
            at += size
        return placed
