import torch
import triton
import triton.language as tl


# Split the rows over the grid: partial maxima to scratch, then a second small kernel.
@triton.jit
def col_max_partial(x_ptr, part_ptr, rows, cols, rows_per, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    split = tl.program_id(1)
    begin = split * rows_per
    end = tl.minimum(begin + rows_per, rows)
    r = tl.arange(0, BLOCK_R)
    acc = tl.full([BLOCK_R, BLOCK_C], -float("inf"), tl.float32)
    for start in range(begin, end, BLOCK_R):
        rr = start + r
        mask = (rr < end)[:, None] & (c < cols)[None, :]
        v = tl.load(x_ptr + rr.to(tl.int64)[:, None] * cols + c[None, :], mask=mask, other=-float("inf"))
        acc = tl.maximum(acc, v)
    tl.store(part_ptr + split * cols + c, tl.max(acc, axis=0), mask=c < cols)


@triton.jit
def col_max_final(part_ptr, out_ptr, splits, cols, SPLITS: tl.constexpr, BLOCK_C: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    s = tl.arange(0, SPLITS)
    mask = (s < splits)[:, None] & (c < cols)[None, :]
    v = tl.load(part_ptr + s[:, None] * cols + c[None, :], mask=mask, other=-float("inf"))
    tl.store(out_ptr + c, tl.max(v, axis=0), mask=c < cols)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(cols, device=x.device, dtype=x.dtype)
    BLOCK_C = 128
    col_blocks = triton.cdiv(cols, BLOCK_C)
    # about 4 CTAs per SM
    splits = max(1, min(triton.cdiv(rows, 16), triton.cdiv(132 * 4, col_blocks)))
    rows_per = triton.cdiv(rows, splits)
    splits = triton.cdiv(rows, rows_per)
    part = torch.empty((splits, cols), device=x.device, dtype=torch.float32)
    col_max_partial[(col_blocks, splits)](x, part, rows, cols, rows_per, BLOCK_R=16, BLOCK_C=BLOCK_C, num_warps=4)
    col_max_final[(triton.cdiv(cols, 32),)](
        part, out, splits, cols, SPLITS=triton.next_power_of_2(splits), BLOCK_C=32, num_warps=4
    )
    return out
