"""Matrix products by cuBLAS as torch's own, so that whatever watches torch's operators sees them. For recordings.

cuBLAS is given addresses. Those of tensors that an extension asked for are remembered here, so that the tensors can be
found again. Called from native code.
"""

from __future__ import annotations

import weakref
from typing import Any

from foretell.kernels.languages import extension
from foretell.kernels.languages.extension.errors import NotRecordable

_tensors: dict[int, Any] = {}  # weak references by address
_MANY = 4096


def address(tensor: Any) -> int:
    """The tensor's address as the recorder has it, remembered; 0 for one without elements, as torch has it.

    Raises:
        NotRecordable: For a fake tensor on the host: its memory would be read, and there is none.
    """
    from torch._subclasses.fake_tensor import FakeTensor

    if tensor.numel() == 0:
        return 0
    if isinstance(tensor, FakeTensor) and tensor.device.type == "cpu":
        if not tensor.numel():
            return 0  # nothing can be read there
        raise NotRecordable("host code of the extension works on the values of a tensor")
    place = int(extension.address_of(tensor))
    if len(_tensors) > _MANY:
        for key in [key for key, held in _tensors.items() if held() is None]:
            del _tensors[key]
    _tensors[place] = weakref.ref(tensor)
    return place


def _matrix(place: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A view of whatever tensor lies at an address."""
    import torch

    for start, held in reversed(_tensors.items()):
        tensor = held()
        if tensor is None or not 0 <= place - start < max(1, tensor.untyped_storage().nbytes()):
            continue
        if tensor.dtype is not dtype:
            break
        offset = tensor.storage_offset() + (place - start) // tensor.element_size()
        return torch.as_strided(tensor, shape, strides, offset)
    raise NotRecordable("cuBLAS was called with an address that is not a tensor's of its type")


def on_product(
    type_name: str, flip_a: int, flip_b: int, m: int, n: int, k: int, fast: int, alpha: float,
    a: int, lda: int, stride_a: int, b: int, ldb: int, stride_b: int, beta: float, c: int, ldc: int, stride_c: int,
    count: int,
) -> None:  # fmt: skip
    """C = alpha op(A) op(B) + beta C with matrices by columns: by rows it is the transposed product."""
    import torch

    dtype = getattr(torch, type_name)
    batch = (count,) if count > 1 else ()

    def view(place: int, rows: int, columns: int, leading: int, flipped: int, stride: int) -> Any:
        steps = (1, leading) if flipped else (leading, 1)
        return _matrix(place, dtype, (*batch, rows, columns), (*((stride,) if batch else ()), *steps))

    left, right = view(b, n, k, ldb, flip_b, stride_b), view(a, k, m, lda, flip_a, stride_a)
    result = view(c, n, m, ldc, 0, stride_c)
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = bool(fast)
    try:
        if beta == 0 and alpha == 1:
            (torch.bmm if batch else torch.mm)(left, right, out=result)
        else:
            (torch.baddbmm if batch else torch.addmm)(result, left, right, beta=beta, alpha=alpha, out=result)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
