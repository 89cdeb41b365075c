"""What an extension's host code does to a device, as events for a recorder.

Addresses are those that `extension.address_of` and the recorder gave out; nothing says here what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretell.kernels.languages.extension.images import Image


class CopyKind(StrEnum):
    """Exhaustive, in the order of cudaMemcpyKind; `default` leaves it to the addresses."""

    HOST_TO_HOST = "host_to_host"
    HOST_TO_DEVICE = "host_to_device"
    DEVICE_TO_HOST = "device_to_host"
    DEVICE_TO_DEVICE = "device_to_device"
    DEFAULT = "default"


class StreamAction(StrEnum):
    """Exhaustive. `record` and `wait` order work across streams; `elapsed_time` asks for a time that nothing took."""

    SYNCHRONIZE = "synchronize"
    SYNCHRONIZE_STREAM = "synchronize_stream"
    SYNCHRONIZE_EVENT = "synchronize_event"
    QUERY_STREAM = "query_stream"
    QUERY_EVENT = "query_event"
    RECORD = "record"
    WAIT = "wait"
    ELAPSED_TIME = "elapsed_time"
    DESTROY_STREAM = "destroy_stream"
    DESTROY_EVENT = "destroy_event"


@dataclass(frozen=True)
class Launched:
    """A kernel launch. `arguments` is the parameter block, `parameters` each parameter's offset and size in it."""

    image: Image
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    stream: int
    arguments: bytes
    parameters: tuple[tuple[int, int], ...]
    cooperative: bool
    max_dynamic_shared_bytes: int


@dataclass(frozen=True)
class Filled:
    """cudaMemset: every one of `size_bytes` bytes at `address` becomes `value`."""

    address: int
    value: int
    size_bytes: int
    stream: int


@dataclass(frozen=True)
class Copied:
    """cudaMemcpy. `data` is what the host held, where the source is the host's memory."""

    kind: CopyKind
    target: int
    source: int
    size_bytes: int
    data: bytes | None
    stream: int


@dataclass(frozen=True)
class SymbolUploaded:
    """cudaMemcpyToSymbol: a `__constant__` or `__device__` variable is written. `source` is an address on the device
    where `data` is None."""

    image: Image
    symbol: str
    offset: int
    size_bytes: int
    data: bytes | None
    source: int
    stream: int


@dataclass(frozen=True)
class SymbolRead:
    """cudaMemcpyFromSymbol: the host or another buffer gets what a variable of the device holds."""

    image: Image
    symbol: str
    offset: int
    size_bytes: int
    target: int
    kind: CopyKind
    stream: int


@dataclass(frozen=True)
class SymbolAddressed:
    """cudaGetSymbolAddress; the recorder answers with the address."""

    image: Image
    symbol: str


@dataclass(frozen=True)
class Allocated:
    """cudaMalloc; the recorder answers with the address."""

    size_bytes: int


@dataclass(frozen=True)
class Freed:
    address: int


@dataclass(frozen=True)
class Created:
    """A new `stream` or `event`; the recorder answers with its handle."""

    what: str


@dataclass(frozen=True)
class StreamUsed:
    """Something done with streams and events; a handle is 0 where there is none."""

    action: StreamAction
    stream: int
    event: int


Memory = Filled | Copied | Allocated | Freed
Symbol = SymbolUploaded | SymbolRead | SymbolAddressed
ExtensionEvent = Launched | Memory | Symbol | Created | StreamUsed
