"""The log of one recording: every allocation and every step since the host code was loaded, over numbered allocations.

Which steps are setup and which are the run, and which allocations are weights, is decided afterwards, in `assemble`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import DTYPE_BYTES, Allocate, Fork, Image, Join, Launch, Step, View, buffers_written
from foretell.kernels.record.addresses import AddressSpace
from foretell.kernels.record.known import KnownValues
from foretell.kernels.record.launches import KernelLaunch, TensorDescriptor, arch_of
from foretell.kernels.record.parameters import TENSOR_MAP_BYTES, pack, parameters_of, words
from foretell.kernels.record.refusal import Reason, Refusal, Refused

_FLOATS = frozenset({"fp16", "bf16", "fp32", "fp64", "f32", "f64"})


@dataclass(frozen=True)
class RawMap:
    """A tensor map as the host described it. Its address stands in the first word of its place in the arguments."""

    position: int
    tensor_address: int
    element: int
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    fill: int


class Session:
    """Allocations, addresses, images and steps of one recording.

    `steps` holds launches whose arguments still have virtual addresses in them; `maps` their tensor maps by step.
    `known` are the values of tensors that follow from constants; what a step may write is not known any longer.
    """

    def __init__(self, capability: int, seed: int = 0) -> None:
        self.arch = arch_of(capability)
        self.steps: list[Step] = []
        self.maps: dict[int, tuple[RawMap, ...]] = {}
        self.images: dict[str, Image] = {}
        self.sizes: list[int] = []
        self.known = KnownValues()
        self.refusal: Refusal | None = None
        self.in_run = False
        self.assumptions: list[str] = []
        self.stream = 0
        self._streams = {0}
        self._unjoined: set[int] = set()
        self._space = AddressSpace(seed)
        self._addresses: list[int] = []
        self._numbers: dict[int, int] = {}
        self._symbols: dict[tuple[str, str, int, int], int] = {}  # parts of variables that host code writes
        self._storages: list[Any] = []  # kept alive, so that no other storage takes one's identity
        self._on_device: dict[int, list[Any]] = {}  # those that kernels can write, by number
        self._muted = 0
        self._thread = threading.get_ident()

    def refuse(self, reason: Reason, sentence: str) -> Refused:
        """The exception to raise; host code that swallows it is refused all the same."""
        error = Refused(reason, sentence)
        self.refusal = self.refusal or error.refusal
        return error

    @property
    def is_recorders_thread(self) -> bool:
        """Whether this is the thread that the session was made in."""
        return threading.get_ident() == self._thread

    @property
    def recording(self) -> bool:
        return self._muted == 0

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Within, nothing is logged: for what the recorder itself does."""
        self._muted += 1
        try:
            yield
        finally:
            self._muted -= 1

    def add(self, step: Step, followed: bool = False) -> None:
        """Log a step. What it may write is forgotten, unless it was `followed`: `known` has its results already.

        Of a launch that is every allocation that it is given the address of, for kernels may hand addresses on.
        """
        if not followed:
            written = self.pointed_to(step.arguments) if isinstance(step, Launch) else buffers_written(step)
            for storage in (each for number in written for each in self._on_device.get(number, ())):
                self.known.forget(storage)
        if self._muted:
            return
        if len(self.steps) >= PROGRAM.steps:
            raise self.refuse(Reason.TOO_LARGE, f"it takes more than {PROGRAM.steps} steps")
        self.steps.append(step)

    # Allocations

    def knows(self, tensor: Any) -> bool:
        return tensor.untyped_storage()._cdata in self._numbers

    def number_of(self, tensor: Any) -> int:
        """The number of the tensor's allocation, a new one if it has not been seen."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._numbers:
            self._own(tensor, self.allocation(int(storage.nbytes())))
        return self._numbers[key]

    def identify(self, tensor: Any, other: Any) -> None:
        """The tensor lies in the allocation of another one."""
        self._own(tensor, self.number_of(other))

    def _own(self, tensor: Any, number: int) -> None:
        """The tensor's storage lies in the allocation of that number, as may a tensor on the host that was moved."""
        storage = tensor.untyped_storage()
        self._storages.append(storage)
        self._numbers[storage._cdata] = number
        if tensor.device.type != "cpu":
            self._on_device.setdefault(number, []).append(storage)

    def allocation(self, size: int) -> int:
        """A new allocation that belongs to no tensor yet."""
        number = len(self.sizes)
        self.sizes.append(size)
        self._addresses.append(self._space.place(number, size))
        return number

    def allocate(self, size: int) -> tuple[int, int]:
        """Number and address of memory that host code asked for itself."""
        number = self.allocation(size)
        self.add(Allocate(number))
        return number, self._addresses[number]

    def address_of(self, tensor: Any) -> int:
        """The virtual address of a tensor's first element."""
        return self._addresses[self.number_of(tensor)] + int(tensor.storage_offset()) * int(tensor.element_size())

    def find(self, address: int) -> tuple[int, int] | None:
        """Which allocation an address lies in, and where."""
        return self._space.find(address)

    def pointed_to(self, arguments: bytes) -> frozenset[int]:
        """Allocations that some word of a launch's arguments points to, whatever host code said it was."""
        places = (self.find(word) for _, word in words(arguments))
        return frozenset(place[0] for place in places if place is not None)

    def view(self, tensor: Any) -> View:
        """The tensor as a view of its allocation."""
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in DTYPE_BYTES:
            raise self.refuse(Reason.OPERATOR, f"it makes a tensor of dtype {dtype}")
        if str(tensor.layout) != "torch.strided" or tensor.is_conj() or tensor.is_neg():
            raise self.refuse(Reason.OPERATOR, f"it makes a {tensor.layout} or lazily conjugated tensor")
        shape = tuple(int(side) for side in tensor.shape)
        strides = tuple(int(stride) for stride in tensor.stride())
        offset = int(tensor.storage_offset()) * tensor.element_size()
        return View(self.number_of(tensor), offset, dtype, shape, strides)

    # Streams

    def use_stream(self, number: int) -> None:
        self.stream = number

    def working_stream(self) -> int:
        """The current stream, forked off the default one if nobody has done so."""
        if self.stream not in self._streams:
            self.wait(self.stream, 0)
        if self.stream:
            self._unjoined.add(self.stream)
        return self.stream

    def wait(self, waiter: int, source: int) -> None:
        """Work given to `waiter` from now on waits for what `source` was given."""
        if waiter == source or (source and source not in self._streams):
            return
        if waiter in self._streams and source:
            self.add(Join(source, waiter))
            self._unjoined.discard(source)
            if waiter:
                self._unjoined.add(waiter)
            return
        self.add(Fork(waiter, source))
        self._streams.add(waiter)
        self._unjoined.add(waiter)
        if source:
            self.add(Join(source, waiter))
            self._unjoined.discard(source)

    def elapsed_ms(self) -> float:
        """The time between two events: always the same while host code is warmed up; Refused in a run."""
        if self.in_run:
            raise self.refuse(Reason.DEPENDS_ON_DATA, "it measures time while it runs")
        self.assumptions.append("what it chooses by times that it measures: as if all took the same time")
        return 1.0

    def join_all(self) -> None:
        """At the end of a call: the default stream waits for all others. The next call forks anew."""
        for stream in sorted(self._unjoined):
            self.add(Join(stream, 0))
        self._unjoined.clear()
        self._streams = {0}
        self.stream = 0

    # Launches

    def image(self, cubin: bytes | None, ptx: str) -> str:
        """The name of an image, stored once; letters that PTX does not have (in names of files) become `?`."""
        image = Image(cubin, ptx.encode("ascii", "replace").decode("ascii"), self.arch)
        self.images.setdefault(image.hash, image)
        return image.hash

    def symbol(self, image: str, symbol: str, offset: int, size: int) -> int:
        """The number, below zero, of a part of an image's variable that host code writes; it is like an allocation."""
        return self._symbols.setdefault((image, symbol, offset, size), -1 - len(self._symbols))

    def symbols_of(self, image: str) -> frozenset[int]:
        """Numbers of what host code has written of an image's variables, which its kernels may read."""
        return frozenset(number for key, number in self._symbols.items() if key[0] == image)

    def launch(self, launch: KernelLaunch) -> None:
        """Log a launch of Triton or `foretell.cuda`."""
        if self._muted:
            return
        parameters = parameters_of(launch.ptx, launch.name)
        values, kinds, raw_maps = list(launch.values), list(launch.kinds), []
        spare = len(parameters) - len(values)
        if spare > 0:  # memory that the compiler asks for; the second is for profiling
            scratch = self._scratch(launch) if launch.scratch_bytes else 0
            values += [scratch, *[0] * (spare - 1)]
        for at, value in enumerate(values):
            if hasattr(value, "untyped_storage"):
                if value.device.type == "cpu":
                    raise self.refuse(Reason.LAUNCH, f"{launch.name} is given a tensor that is not on the device")
                values[at] = self.address_of(value)
            elif isinstance(value, TensorDescriptor):
                raw_maps.append(self._raw_map(value, parameters[at].offset if at < len(parameters) else 0))
                address = raw_maps[-1].tensor_address
                values[at] = address.to_bytes(8, "little") + bytes(TENSOR_MAP_BYTES - 8)
            elif value is None:
                values[at] = 0
        floats = [kind if kind in _FLOATS else None for kind in kinds]
        grid = (launch.grid[0] * launch.cluster, *launch.grid[1:])
        attributes = tuple(sorted(launch.attributes.items()))
        if launch.cluster > 1:
            attributes = (("cluster", (launch.cluster, 1, 1)), *attributes)
        threads = (launch.block[0] // launch.cluster, *launch.block[1:])
        if 0 in grid:
            return  # Triton and CUDA do nothing then
        stream = self.working_stream()
        if raw_maps:
            self.maps[len(self.steps)] = tuple(raw_maps)
        self.add(
            Launch(
                self.image(launch.image, launch.ptx), launch.name, grid, threads, launch.shared_bytes,
                pack(parameters, values, floats), stream=stream, attributes=attributes,
            )
        )  # fmt: skip

    def _scratch(self, launch: KernelLaunch) -> int:
        """The address of the global memory that a Triton kernel asks for, from whoever was told to provide it."""
        from triton.runtime import _allocation

        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.cluster
        allocator: Any = _allocation._allocator
        provide = allocator.get() if hasattr(allocator, "get") else allocator
        memory = provide(blocks * launch.scratch_bytes, 128, 0)
        return self.address_of(memory) if hasattr(memory, "untyped_storage") else int(memory.data_ptr())

    def _raw_map(self, value: TensorDescriptor, position: int) -> RawMap:
        meta, descriptor = value.meta, value.descriptor
        if meta.get("is_im2col") or meta.get("fp4_padded"):
            raise self.refuse(Reason.LAUNCH, "a tensor descriptor for im2col or packed 4-bit elements")
        size = int(meta["elem_size"])
        element = {8: 10, 9: 8, 10: 9}.get(int(meta["elem_type"]), int(meta["elem_type"]))  # device to host enumerators
        if getattr(descriptor, "round_f32_to_tf32", False):
            element = 11
        backwards: Sequence[int] = [int(n) for n in reversed(descriptor.shape)]
        strides = [int(n) * size for n in reversed(descriptor.strides)]
        box = tuple(int(n) for n in reversed(meta["block_size"]))
        fill = 1 if getattr(descriptor, "padding", "zero") == "nan" else 0
        address = self.address_of(descriptor.base)
        return RawMap(position, address, element, tuple(backwards), tuple(strides[1:]), box, int(meta["swizzle"]), fill)
