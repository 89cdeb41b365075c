"""Values of tensors that are computed from constants alone.

Fake tensors have no values, yet host code looks at small constants: the list of drop rates of a transformer, a table of
offsets. Operations on such tensors are carried out on the CPU as well, so that their values are there when they are
asked for or copied to the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MOST_ELEMENTS = 1 << 16


class KnownValues:
    """Real CPU tensors that stand for whole storages of fake ones."""

    def __init__(self) -> None:
        self._bases: dict[int, Any] = {}
        self._storages: list[Any] = []  # kept alive, so that no other storage takes one's identity

    def of(self, tensor: Any) -> Any | None:
        """A real tensor with the values of this one, sharing memory with what is known; None if they are not known."""
        import torch

        if not tensor.numel():
            with _real():
                return torch.empty(tuple(tensor.shape), dtype=tensor.dtype)
        base = self._bases.get(tensor.untyped_storage()._cdata)
        if base is None:
            return None
        with _real():
            flat = base.untyped_storage()
            return torch.empty(0, dtype=tensor.dtype).set_(
                flat, int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride())
            )

    def learn(self, tensor: Any, real: Any) -> None:
        """The fake tensor has these values."""
        import torch

        if tensor.numel() > MOST_ELEMENTS:
            return
        with _real():
            size = int(tensor.untyped_storage().nbytes())
            base = torch.zeros(size, dtype=torch.uint8)
            view = torch.empty(0, dtype=tensor.dtype).set_(
                base.untyped_storage(), int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride())
            )
            view.copy_(real)
        self._storages.append(tensor.untyped_storage())
        self._bases[tensor.untyped_storage()._cdata] = view

    def forget(self, storage: Any) -> None:
        """The values of the storage are not known any longer."""
        self._bases.pop(storage._cdata, None)

    def follow(self, func: Any, args: Any, kwargs: Any, result: Any) -> bool:
        """Carry an operation out on known values; False if some operand's values are not known."""
        import torch
        from torch.utils._pytree import tree_flatten, tree_map_only

        leaves = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
        results = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]
        if any(each.numel() > MOST_ELEMENTS for each in (*leaves, *results)):
            return False
        reals = {id(leaf): leaf if type(leaf) is torch.Tensor else self.of(leaf) for leaf in leaves}
        if any(real is None for real in reals.values()):
            return False

        def real_of(leaf: Any) -> Any:
            return reals[id(leaf)]

        args, kwargs = tree_map_only(torch.Tensor, real_of, (args, dict(kwargs)))
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        try:
            with _real():
                found = func(*args, **kwargs)
        except (RuntimeError, NotImplementedError, TypeError):
            return False
        for fake, real in zip(results, tree_flatten(found)[0], strict=False):
            if isinstance(real, torch.Tensor) and tuple(real.shape) == tuple(fake.shape):
                known = self._bases.get(fake.untyped_storage()._cdata)
                if known is None:
                    self.learn(fake, real)
        return True


@contextmanager
def _real() -> Iterator[None]:
    """Within, operations are carried out and not seen by any mode."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield


def bytes_of(real: Any) -> bytes:
    """The elements of a real CPU tensor, in order."""
    import torch

    with _real():
        flat = real.detach().contiguous().reshape(-1)
        return bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b""
