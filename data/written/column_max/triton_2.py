import torch
import triton
import triton.language as tl


# 2D tiles, all rows per program: loads [BLOCK_R, BLOCK_C] at a time, elementwise max into a 2D accumulator.
@triton.jit
def col_max_tile(x_ptr, out_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    r = tl.arange(0, BLOCK_R)
    acc = tl.full([BLOCK_R, BLOCK_C], -float("inf"), tl.float32)
    for start in range(0, rows, BLOCK_R):
        rr = start + r
        mask = (rr < rows)[:, None] & (c < cols)[None, :]
        v = tl.load(x_ptr + rr[:, None] * cols + c[None, :], mask=mask, other=-float("inf"))
        acc = tl.maximum(acc, v)
    tl.store(out_ptr + c, tl.max(acc, axis=0), mask=c < cols)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(cols, device=x.device, dtype=x.dtype)
    BLOCK_R, BLOCK_C = 128, 32
    col_max_tile[(triton.cdiv(cols, BLOCK_C),)](x, out, rows, cols, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C, num_warps=8)
    return out
