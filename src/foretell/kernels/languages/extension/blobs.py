"""`torch::from_blob`: a tensor on memory that the extension owns. Called from native code."""

from __future__ import annotations

import ctypes
from typing import Any

from foretell.kernels.languages.extension.errors import ExtensionError, Reason


def from_blob(address: int, sizes: list[int], strides: list[int], dtype: Any, device: Any) -> Any:
    """A tensor on host memory at `address`; memory of a GPU cannot be taken in this way."""
    import torch

    if device.type != "cpu":
        raise ExtensionError(Reason.UNSUPPORTED, "torch::from_blob on device memory is not offered here")
    count = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) if all(sizes) else 0
    item = torch.empty((), dtype=dtype).element_size()
    if count == 0:
        return torch.empty(sizes, dtype=dtype)
    memory = (ctypes.c_char * (count * item)).from_address(address)
    return torch.frombuffer(memory, dtype=dtype, count=count).as_strided(sizes, strides)
