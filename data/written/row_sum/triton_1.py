import torch
import triton
import triton.language as tl


# One program per row; the whole (padded) row is a single block.
# The sum is a warp shuffle tree plus a small shared memory step.
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row.to(tl.int64) * n_cols + offs, mask=offs < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows,), device=x.device, dtype=x.dtype)
    row_sum_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
