import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_tiled(x_ptr, out_ptr, rows, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    # R rows per program, walk along the columns in tiles with a running carry per row
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    base = r.to(tl.int64)[:, None] * cols
    rmask = r[:, None] < rows
    carry = tl.zeros([R], tl.float32)
    for start in range(0, cols, BLOCK):
        cc = start + c
        mask = rmask & (cc[None, :] < cols)
        x = tl.load(x_ptr + base + cc[None, :], mask=mask, other=0.0)
        y = tl.cumsum(x, axis=1) + carry[:, None]
        tl.store(out_ptr + base + cc[None, :], y, mask=mask)
        carry += tl.sum(x, axis=1)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    R, BLOCK = 4, 512
    cumsum_tiled[(triton.cdiv(rows, R),)](x, out, rows, cols, R=R, BLOCK=BLOCK, num_warps=4)
    return out
