"""torch on the CPU with a GPU's arithmetic where the two differ."""

from __future__ import annotations

from typing import Any

import numpy as np


def like_cuda() -> Any:
    """A mode in which torch divides by a number as it does on a GPU: by multiplying with its rounded reciprocal."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class LikeCuda(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in (torch.ops.aten.div.Tensor, torch.ops.aten.div.Scalar):
                value, divisor = args
                narrow = isinstance(value, torch.Tensor) and value.is_floating_point() and value.element_size() <= 4
                if narrow and isinstance(divisor, int | float) and divisor:
                    return (value.float() * float(np.float32(1.0) / np.float32(divisor))).to(value.dtype)
            return function(*args, **(kwargs or {}))

    return LikeCuda()
