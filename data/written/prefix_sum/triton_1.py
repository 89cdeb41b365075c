import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_row(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    x = tl.load(x_ptr + row * cols + offs, mask=mask, other=0.0)
    y = tl.cumsum(x, axis=0)
    tl.store(out_ptr + row * cols + offs, y, mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    cumsum_row[(rows,)](x, out, cols, BLOCK=BLOCK, num_warps=4 if BLOCK <= 1024 else 8)
    return out
