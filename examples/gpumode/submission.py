"""A submission in the shape of GPU MODE's leaderboards: `custom_kernel` takes what `generate_input` returns."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_peak(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.abs(tl.load(x + row * columns + i, mask=i < columns, other=0.0)))
    tl.store(out + row, tl.max(best, 0))


def custom_kernel(data: torch.Tensor) -> torch.Tensor:
    """The largest absolute value of each row."""
    rows, columns = data.shape
    out = torch.empty(rows, dtype=data.dtype, device=data.device)
    row_peak[(rows,)](data, out, columns, BLOCK=1024)
    return out
