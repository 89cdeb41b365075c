import torch
import triton
import triton.language as tl


# One program per row: load the row padded with +inf, tl.sort, store the first cols.
@triton.jit
def row_sort_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    v = tl.load(x_ptr + row * cols + offs, mask=mask, other=float("inf"))
    s = tl.sort(v)
    tl.store(out_ptr + row * cols + offs, s, mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    num_warps = 4 if BLOCK > 256 else 1
    row_sort_kernel[(rows,)](x, out, cols, BLOCK=BLOCK, num_warps=num_warps)
    return out
