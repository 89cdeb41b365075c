"""What an extension's CUDA runtime asks and tells while a recorder is set. Called from native code.

Answers about the device come from `extension.device`, a description, so that nothing needs a GPU.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

from foretell.kernels.languages import extension
from foretell.kernels.languages.extension.errors import NotRecordable
from foretell.kernels.languages.extension.events import (
    Allocated,
    Copied,
    CopyKind,
    Created,
    ExtensionEvent,
    Filled,
    Freed,
    Launched,
    StreamAction,
    StreamUsed,
    SymbolAddressed,
    SymbolRead,
    SymbolUploaded,
)
from foretell.kernels.languages.extension.images import image_at
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of

INVALID_VALUE, INVALID_CONFIGURATION = 1, 9  # of cudaError_t
_KINDS = tuple(CopyKind)
_MOST_THREADS, _MOST_Z, _GRID_X, _GRID_YZ = 1024, 64, (1 << 31) - 1, 65535
_USUAL_SHARED_BYTES, _CONSTANT_BYTES = 48 << 10, 64 << 10
_ALIGNMENT = 512
_handles = itertools.count(1 << 20)
_addresses = itertools.count(1)
_symbols: dict[tuple[str, str], int] = {}


def refuse(message: str) -> None:
    raise NotRecordable(message)


def _emit(event: ExtensionEvent) -> Any:
    recorder = extension.recorder
    return recorder(event) if recorder is not None else None


def on_launch(
    fatbin: int, size: int, entry: str, gx: int, gy: int, gz: int, bx: int, by: int, bz: int,
    shared_bytes: int, stream: int, arguments: int, cooperative: int, most_shared: int,
) -> int | None:  # fmt: skip
    """A launch: checked as a driver would check it, its arguments copied out of the caller's memory."""
    image = image_at(fatbin, size)
    fault = _launch_fault((gx, gy, gz), (bx, by, bz), shared_bytes, most_shared)
    if fault is not None:
        return fault
    parameters = image.parameters(entry)
    pointers = (ctypes.c_void_p * len(parameters)).from_address(arguments) if parameters else ()
    block = bytearray(max((offset + length for offset, length in parameters), default=0))
    for (offset, length), pointer in zip(parameters, pointers, strict=True):
        block[offset : offset + length] = ctypes.string_at(pointer, length)
    grid, threads = (gx, gy, gz), (bx, by, bz)
    _emit(
        Launched(
            image, entry, grid, threads, shared_bytes, stream, bytes(block), parameters, bool(cooperative), most_shared
        )
    )
    return None


def _launch_fault(
    grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int, most_shared: int
) -> int | None:
    threads = block[0] * block[1] * block[2]
    if not 0 < threads <= _MOST_THREADS or block[2] > _MOST_Z:
        return INVALID_CONFIGURATION
    if min(grid) < 1 or grid[0] > _GRID_X or max(grid[1:]) > _GRID_YZ:
        return INVALID_CONFIGURATION
    return INVALID_VALUE if shared_bytes > max(most_shared, _USUAL_SHARED_BYTES) else None


def on_fill(address: int, value: int, size: int, stream: int) -> None:
    _emit(Filled(address, value & 0xFF, size, stream))


def on_copy(target: int, source: int, size: int, kind: int, stream: int, asynchronous: int) -> None:
    which = _KINDS[kind]
    if which is CopyKind.HOST_TO_HOST:
        ctypes.memmove(target, source, size)
        return
    data = ctypes.string_at(source, size) if which is CopyKind.HOST_TO_DEVICE else None
    _emit(Copied(which, target, source, size, data, stream))


def on_symbol_copy(
    fatbin: int, size: int, symbol: str, offset: int, other: int, count: int, kind: int, stream: int, upload: int
) -> None:
    image, which = image_at(fatbin, size), _KINDS[kind]
    if not upload:
        _emit(SymbolRead(image, symbol, offset, count, other, which, stream))
        return
    data = None if which is CopyKind.DEVICE_TO_DEVICE else ctypes.string_at(other, count)
    _emit(SymbolUploaded(image, symbol, offset, count, data, other if data is None else 0, stream))


def on_symbol_address(fatbin: int, size: int, symbol: str) -> int:
    image = image_at(fatbin, size)
    answer = _emit(SymbolAddressed(image, symbol))
    return int(answer) if answer is not None else _symbols.setdefault((image.hash, symbol), _new_address(1 << 20))


def on_allocate(size: int) -> int:
    answer = _emit(Allocated(size))
    return int(answer) if answer is not None else _new_address(size)


def _new_address(size: int) -> int:
    """An address that nothing else has, far apart from the others."""
    return extension.OWN_ADDRESSES + next(_addresses) * max(extension.TENSOR_BYTES, -(-size // _ALIGNMENT) * _ALIGNMENT)


def on_free(address: int) -> None:
    _emit(Freed(address))


def on_create(what: str) -> int:
    answer = _emit(Created(what))
    return int(answer) if answer is not None else next(_handles)


def on_stream(action: str, stream: int, event: int) -> None:
    _emit(StreamUsed(StreamAction(action), stream, event))


def on_shared_limit(fatbin: int, size: int, entry: str, wanted: int) -> int | None:
    most = multiprocessor_of(capability_of(extension.device)).block_shared_bytes
    return INVALID_VALUE if wanted > most else None


def on_product(*matrices: Any) -> None:
    """A matrix product by cuBLAS."""
    from foretell.kernels.languages.extension.products import on_product as multiply

    multiply(*matrices)


def current_stream() -> int:
    """torch's current stream there: the default one, for a recorder sees streams that were made."""
    return extension.current_stream


def set_current_stream(handle: int) -> None:
    if extension.recorder is not None:
        extension.current_stream = handle
        return
    import torch

    torch.cuda.set_stream(torch.cuda.ExternalStream(handle))


def device_name() -> str:
    return extension.device.name


def device_memory() -> int:
    return extension.device.memory_bytes


def device_attribute(number: int) -> int:
    """A device's attribute by its number in the driver's list; 0 for those that no extension asks for."""
    device = extension.device
    capability = capability_of(device)
    holds = multiprocessor_of(capability)
    known = {
        1: _MOST_THREADS, 2: _MOST_THREADS, 3: _MOST_THREADS, 4: _MOST_Z, 5: _GRID_X, 6: _GRID_YZ, 7: _GRID_YZ,
        8: _USUAL_SHARED_BYTES, 9: _CONSTANT_BYTES, 10: 32, 12: holds.registers, 13: int(device.clock_hz / 1e3),
        16: device.cores, 31: 1, 38: device.cache_bytes, 39: holds.threads, 40: 2, 41: 1, 75: capability // 10,
        76: capability % 10, 81: holds.shared_bytes, 82: holds.registers, 83: 1, 95: 1, 97: holds.block_shared_bytes,
        106: holds.blocks, 111: holds.reserved_shared_bytes,
    }  # fmt: skip
    return known.get(number, 0)


def function_attribute(fatbin: int, size: int, entry: str, number: int) -> int:
    """A kernel's attribute by its number in the driver's list."""
    image = image_at(fatbin, size)
    resources, capability = image.resources(entry), capability_of(extension.device)
    known = {
        0: image.most_threads(entry) or _MOST_THREADS,
        1: int(resources.get("shared_bytes", 0)),
        3: int(resources.get("spill_bytes", 0)),
        4: int(resources.get("registers", 0)),
        5: capability,
        6: capability,
    }
    return known.get(number, 0)


def resident_blocks(fatbin: int, size: int, entry: str, threads: int, shared_bytes: int) -> int:
    """Blocks of a kernel that one multiprocessor holds at a time."""
    from foretell.kernels.languages.sass import read_cubin

    capability = capability_of(extension.device)
    share = read_cubin(image_at(fatbin, size).cubin, threads, shared_bytes, entry, capability).get("occupancy", 0.0)
    return round(share * multiprocessor_of(capability).threads / max(1, -(-threads // 32) * 32))
