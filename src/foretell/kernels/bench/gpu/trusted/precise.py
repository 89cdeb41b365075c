"""A reference's Program carried out in double precision: what its outputs would be without rounding.

Inputs and weights are widened to float64, and so is everything computed from them, since torch's operators return what
they are given. Casts to a narrower type than float32 are part of what the reference means and stay.
"""

from __future__ import annotations

from typing import Any

import torch

from foretell.kernels.program import Allocate, Argument, Launch, LibraryCall, Program, Tag, View
from foretell.kernels.record.replay import Replay, ReplayError, copy_into

_WIDENED = ("float32", "float16", "bfloat16")


class Precise(Replay):
    """As `Replay`, with floating-point buffers of doubles. ReplayError if the Program cannot be widened.

    Widened are Programs of library calls in which every buffer is seen as one type only.
    """

    def __init__(self, program: Program, device: str) -> None:
        super().__init__(program, device)
        self._types: dict[int, str] = {}
        for step in (*program.setup, *program.run):
            if not isinstance(step, LibraryCall | Allocate):
                what = "a kernel" if isinstance(step, Launch) else f"a step {type(step).__name__}"
                raise ReplayError(f"{what} has no double precision")
            if isinstance(step, LibraryCall):
                for view in (*step.tensors(), *(v for v in step.results if v is not None)):
                    self._seen(view)
        for view in (*program.inputs, *(weight.view for weight in program.weights), *program.outputs):
            self._seen(view)
        self._actual: dict[int, Any] = {}

    def _seen(self, view: View) -> None:
        if self._types.setdefault(view.buffer, view.dtype) != view.dtype:
            raise ReplayError(f"buffer {view.buffer} is seen as {self._types[view.buffer]} and as {view.dtype}")

    def tensor(self, view: View) -> Any:
        dtype = self._actual[view.buffer]
        empty = torch.empty(0, dtype=dtype, device=self._device)
        offset = view.offset_bytes // view.item_bytes
        return empty.set_(self._buffers[view.buffer], offset, view.shape, view.strides)

    def _allocate(self, buffer: int) -> None:
        recorded = self._types.get(buffer, "uint8")
        dtype = torch.float64 if recorded in _WIDENED else getattr(torch, recorded)
        self._allocate_as(buffer, dtype)

    def _allocate_as(self, buffer: int, dtype: Any) -> None:
        recorded = getattr(torch, self._types.get(buffer, "uint8"))
        count = -(-self._program.buffers[buffer].bytes // recorded.itemsize)
        self._buffers[buffer] = torch.zeros(count, dtype=dtype, device=self._device).untyped_storage()
        self._actual[buffer] = dtype

    def _put(self, view: View, tensor: Any) -> None:
        if tuple(tensor.shape) != view.shape or str(tensor.dtype) != f"torch.{view.dtype}":
            raise ReplayError(f"expected {view.dtype} {view.shape}, got {tensor.dtype} {tuple(tensor.shape)}")
        if view.buffer not in self._buffers:
            self._allocate(view.buffer)
        copy_into(self.tensor(view), tensor)

    def _bind(self, call: LibraryCall, view: View, tensor: Any) -> None:
        recorded = getattr(torch, view.dtype)
        if tuple(tensor.shape) != view.shape or tensor.dtype not in (recorded, torch.float64):
            raise ReplayError(f"{call.operator} returned {tensor.dtype} {tuple(tensor.shape)} in double precision")
        if view.buffer in self._buffers:
            if not self._is_there(view, tensor):
                self.tensor(view).copy_(tensor)
            return
        self._allocate_as(view.buffer, torch.float64 if tensor.dtype is torch.float32 else tensor.dtype)
        self.tensor(view).copy_(tensor)

    def _argument(self, value: Argument) -> Any:
        if isinstance(value, Tag) and value.kind == "dtype" and value.value == "float32":
            return torch.float64
        made = super()._argument(value)
        if isinstance(made, torch.Tensor) and made.dtype is torch.float32:
            return made.double()  # a literal
        return made
