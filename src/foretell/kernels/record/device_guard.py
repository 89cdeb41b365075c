"""A CUDA device guard for a torch that was built without CUDA, so that fake CUDA tensors can be used in full there.

Much of torch's Python surface (indexing, `contiguous`, `copy_`, `cuda`) asks for the guard of a tensor's device before
anything else. A build with CUDA has one whether there is a GPU or not, and torch itself puts one that does nothing in
its place for fake tensors; a CPU-only build has none and fails. This gives it the guard of torch's `meta` device, which
does nothing either, with a table of functions in which the device is called `cuda:0`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_BEFORE, _FUNCTIONS = 2, 40  # words in front of a table of virtual functions; more than the interface has
_TYPE, _EXCHANGE, _CURRENT = 0, 1, 2  # places in the table: type(), exchangeDevice(device), getDevice()
_kept: list[Any] = []


@cache
def ensure_cuda_guard() -> bool:
    """Give this torch a CUDA device guard if it has none; False if that cannot be done."""
    import torch

    if torch.backends.cuda.is_built():
        return True
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
        kinds = torch._C._autograd.DeviceType
        cuda, meta = int(kinds.CUDA), int(kinds.Meta)
        registry = (ctypes.c_void_p * (meta + 1)).in_dll(library, _REGISTRY)
    except (OSError, ValueError, AttributeError):
        return False
    if registry[cuda]:
        return True
    nothing = registry[meta]
    if not nothing:
        return False
    registry[cuda] = ctypes.addressof(_like(nothing, cuda))
    return True


def _like(guard: int, kind: int) -> Any:
    """A guard that does what `guard` does and says that its device is number 0 of another kind."""
    device = kind  # a device is two bytes, kind and number, and is returned in a register
    answer_type = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)(lambda _: kind)
    answer_device = ctypes.CFUNCTYPE(ctypes.c_int16, ctypes.c_void_p)(lambda _: device)
    exchange = ctypes.CFUNCTYPE(ctypes.c_int16, ctypes.c_void_p, ctypes.c_int16)(lambda *_: device)
    start = ctypes.c_void_p.from_address(guard).value or 0
    table = (ctypes.c_void_p * (_BEFORE + _FUNCTIONS)).from_buffer_copy(
        (ctypes.c_void_p * (_BEFORE + _FUNCTIONS)).from_address(start - _BEFORE * ctypes.sizeof(ctypes.c_void_p))
    )
    for place, function in ((_TYPE, answer_type), (_EXCHANGE, exchange), (_CURRENT, answer_device)):
        table[_BEFORE + place] = ctypes.cast(function, ctypes.c_void_p)
    made = (ctypes.c_void_p * 8)(ctypes.addressof(table) + _BEFORE * ctypes.sizeof(ctypes.c_void_p))
    _kept.extend((answer_type, answer_device, exchange, table, made))
    return made
