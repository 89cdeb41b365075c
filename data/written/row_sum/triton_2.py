import torch
import triton
import triton.language as tl


# Lane-wise accumulator over column chunks, reduced once at the end. 4 independent loads in flight per iteration.
@triton.jit
def row_sum_loop(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    p = x_ptr + row * n_cols
    offs = tl.arange(0, BLOCK)
    a0 = tl.zeros([BLOCK], tl.float32)
    a1 = tl.zeros([BLOCK], tl.float32)
    a2 = tl.zeros([BLOCK], tl.float32)
    a3 = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_cols, 4 * BLOCK):
        c = start + offs
        a0 += tl.load(p + c, mask=c < n_cols, other=0.0)
        a1 += tl.load(p + c + BLOCK, mask=c + BLOCK < n_cols, other=0.0)
        a2 += tl.load(p + c + 2 * BLOCK, mask=c + 2 * BLOCK < n_cols, other=0.0)
        a3 += tl.load(p + c + 3 * BLOCK, mask=c + 3 * BLOCK < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum((a0 + a1) + (a2 + a3), axis=0))


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows,), device=x.device, dtype=torch.float32)
    row_sum_loop[(rows,)](x, out, cols, BLOCK=128, num_warps=1)
    return out
