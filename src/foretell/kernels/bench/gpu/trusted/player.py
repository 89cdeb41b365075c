"""A Program over lent memory: inputs stay where the judge put them, temporaries and state are the replayer's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from foretell.kernels.program import Image, LibraryCall, Program, Role, View
from foretell.kernels.program_check import Fault, InvalidProgram
from foretell.kernels.record.replay import POISON, Replay, flags_set

# Flags that trade precision for speed. They are the task's, the same for reference and candidate.
PRECISION_FLAGS = frozenset({"matmul_precision", "cudnn_tf32", "fp16_reduction", "bf16_reduction", "fp16_accumulation"})

Flags = tuple[tuple[str, str | bool], ...]


def precision_of(program: Program) -> Flags:
    """The precision flags of a reference: those of its first library call that has any."""
    for call in program.library_calls():
        chosen = tuple(flag for flag in call.flags if flag[0] in PRECISION_FLAGS)
        if chosen:
            return chosen
    return ()


def check_memory(program: Program) -> None:
    """InvalidProgram if an output lies in the memory of an input or weight, or two inputs in the same memory."""
    for number, view in enumerate(program.outputs):
        role = program.buffers[view.buffer].role
        if role in (Role.INPUT, Role.WEIGHT):
            raise InvalidProgram(Fault.SIGNATURE, f"output {number} lies in the memory of an {role}")
    buffers = [view.buffer for view in program.inputs]
    if len(set(buffers)) != len(buffers):
        raise InvalidProgram(Fault.SIGNATURE, "two inputs lie in the same memory")


class Player(Replay):
    """A Program that runs on tensors of the caller.

    Args:
        program: Checked before anything else; InvalidProgram if it must not be executed (`check`, `check_memory`).
        device: Where everything lies.
        load: Makes an image launchable.
        precision: Precision flags of every library call, instead of the recorded ones.
    """

    def __init__(
        self, program: Program, device: str, load: Callable[[Image], Any] | None = None, precision: Flags = ()
    ) -> None:
        super().__init__(program, device, load)
        self._precision = precision
        self._poisons = True
        self._places: list[tuple[int, Any, int]] = []  # address, device and bytes of what a captured run allocated
        check_memory(program)

    def run_on(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs for lent inputs, queued on the current stream; the run may write its inputs."""
        self._places = []
        self._buffers = dict(self._state)
        self._streams.clear()
        for view, tensor in zip(self._program.inputs, inputs, strict=True):
            self._buffers[view.buffer] = _storage(view, tensor)
        self._run_steps()
        return [self.tensor(view) for view in self._program.outputs]

    def state_outputs(self) -> list[Any]:
        """Outputs that lie in memory which was there before the run: they may hold results of the last one."""
        self._buffers = dict(self._state)
        roles = self._program.buffers
        return [self.tensor(view) for view in self._program.outputs if roles[view.buffer].role is Role.STATE]

    def forget(self) -> None:
        """Poison the temporary memory of the last run."""
        for number, storage in self._buffers.items():
            if self._program.buffers[number].role is Role.TEMPORARY:
                torch.empty(0, dtype=torch.uint8, device=self._device).set_(storage).fill_(POISON)

    def eraser(self) -> Callable[[], None]:
        """Poisons the temporary memory of the run that was captured last; its graph keeps that memory."""
        spaces = [
            torch.empty(0, dtype=torch.uint8, device=device).set_(_storage_at(address, device, size))
            for address, device, size in self._places
        ]

        def erase() -> None:
            for space in spaces:
                space.fill_(POISON)

        return erase

    @contextmanager
    def unpoisoned(self) -> Iterator[None]:
        """While a run is captured: allocating costs nothing then, as for the host code that was recorded."""
        self._poisons = False
        try:
            yield
        finally:
            self._poisons = True

    def settle(self) -> None:
        """Let go of what kernels that have ended were given."""
        self._kept.clear()

    def _allocate(self, buffer: int) -> None:
        if self._poisons:
            super()._allocate(buffer)
            return
        size = self._program.buffers[buffer].bytes
        made = torch.empty(size, dtype=torch.uint8, device=self._device)
        self._buffers[buffer] = made.untyped_storage()
        if size and made.is_cuda:  # elsewhere nothing can be captured, and memory does not stay
            self._places.append((made.data_ptr(), made.device, size))

    def _call(self, call: LibraryCall) -> None:
        flags = tuple(flag for flag in call.flags if flag[0] not in PRECISION_FLAGS)
        plain = LibraryCall(
            call.operator, call.arguments, call.keywords, call.results, call.mutated, flags, call.stream
        )
        with flags_set(self._precision):
            super()._call(plain)


def _storage(view: View, tensor: Any) -> Any:
    """The memory of a lent tensor as a storage of its own, so that no view can reach past it."""
    if (tuple(tensor.shape), tuple(tensor.stride())) != (view.shape, view.strides) or view.offset_bytes:
        raise InvalidProgram(Fault.SIGNATURE, f"an input of shape {view.shape} is laid out otherwise than the task's")
    return _storage_at(tensor.data_ptr(), tensor.device, view.end_bytes)


def _storage_at(address: int, device: Any, size: int) -> Any:
    make: Any = torch._C._construct_storage_from_data_pointer  # as torch does for the memory of its own graphs
    return make(address, device, size)


def weights_by_name(program: Program, tensors: Sequence[Any]) -> Mapping[str, Any]:
    """A Program's weights, given in its order."""
    return {weight.name: tensor for weight, tensor in zip(program.weights, tensors, strict=True)}
