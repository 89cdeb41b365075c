"""C++ and CUDA extensions for torch, built in seconds and run with or without a GPU.

`torch.utils.cpp_extension.load_inline` compiles against torch's headers, which takes a minute. Here the candidate's own
text is compiled against slim headers of this package (`include/`), whose tensors are Python objects and whose operators
are called through Python, and linked with a CUDA runtime of this package (`native/`). The runtime forwards to the CUDA
driver; while `recorder` is set, it tells the recorder instead, and no GPU is needed.

    with extension.patched():
        module = load_module(source)   # load_inline and load are built here

Four names of this module are for recorders and benches to set; native code reads them at every call:

- `recorder`: called with each `ExtensionEvent`; None to run on the device.
- `address_of`: the address of a tensor's first element.
- `default_stream`: handle of the stream that stands in for the default stream; 0 for the default stream itself.
- `device`: the device that is described to host code while recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from foretell.kernels.device import Device
from foretell.kernels.devices import described
from foretell.kernels.languages.extension.bare import bare_sources, bound_entry, is_bare
from foretell.kernels.languages.extension.builder import build
from foretell.kernels.languages.extension.errors import ExtensionError, NotRecordable, Reason
from foretell.kernels.languages.extension.events import ExtensionEvent
from foretell.kernels.languages.extension.loader import load
from foretell.kernels.languages.extension.patch import Builds, Built, patched, usual_arch
from foretell.kernels.languages.extension.sources import ExtensionSources

__all__ = [
    "Builds",
    "Built",
    "ExtensionError",
    "ExtensionEvent",
    "ExtensionSources",
    "NotRecordable",
    "Reason",
    "address_of",
    "bare_sources",
    "bound_entry",
    "build",
    "default_stream",
    "device",
    "is_bare",
    "load",
    "patched",
    "real_address",
    "recorder",
    "standing_in",
    "usual_arch",
]

TENSOR_BYTES, ADDRESSES = 1 << 42, 1 << 18  # made-up addresses lie this far apart, in so many places
OWN_ADDRESSES = 1 << 61  # where those of cudaMalloc begin


def real_address(tensor: Any) -> int:
    """The tensor's own address; for a fake tensor, which has none, one made up from its storage."""
    from torch._subclasses.fake_tensor import FakeTensor

    if not isinstance(tensor, FakeTensor):
        return int(tensor.data_ptr())
    storage = tensor.untyped_storage()._cdata % ADDRESSES
    return int((storage + 1) * TENSOR_BYTES + tensor.storage_offset() * tensor.element_size())


@contextmanager
def standing_in(handle: int) -> Iterator[None]:
    """Let a stream stand in for the default one: what extensions launch there without naming a stream goes to it.

    So a stream that is being captured gets the launches that would go to the default stream, in the same order.
    """
    global default_stream
    before, default_stream = default_stream, handle
    try:
        yield
    finally:
        default_stream = before


recorder: Callable[[ExtensionEvent], Any] | None = None
address_of: Callable[[Any], int] = real_address
default_stream: int = 0
current_stream: int = 0
device: Device = described("h200")
