"""A device whose memory is full: how that shows, and in whose way it is."""

from __future__ import annotations

from foretell.kernels.bench.gpu.handle import DeviceLost

_WORDS = ("out of memory", "out of device memory")


class MemoryFull(Exception):
    """The device's memory does not suffice, as far as it is free."""


class DeviceFull(DeviceLost):
    """Other processes hold the device's memory, and did not give it back for as long as was waited."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether torch or the driver say so: a context that cannot be made is no OutOfMemoryError of torch's."""
    from torch import OutOfMemoryError

    return isinstance(error, OutOfMemoryError) or (isinstance(error, RuntimeError) and _says_so(error))


def is_full(error: BaseException) -> bool:
    """Whether it was for lack of memory that a judge or a worker could not go on."""
    if isinstance(error, DeviceLost):
        return _says_so(error)
    return isinstance(error, MemoryFull) or is_out_of_memory(error)


def _says_so(error: BaseException) -> bool:
    text = str(error).lower().replace("_", " ")
    return any(words in text for words in _WORDS)
