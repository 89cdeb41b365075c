import torch
import triton
import triton.language as tl


# Tensor core reduction: X @ ones. A [64, 64] tile times a [64, 16] matrix of ones; the sum is column 0 of the accumulator.
# TF32 would truncate x to 10 bits of mantissa (error ~5e-4 relative per element, although it averages out), tolerance is
# 2e-5: split x in a tf32 high part and the remainder and do two dots.
@triton.jit
def row_sum_dot(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    ok = (r < n_rows)[:, None]
    p = x_ptr + r.to(tl.int64)[:, None] * n_cols + c[None, :]
    ones = tl.full([BLOCK, 16], 1.0, tl.float32)
    acc = tl.zeros([ROWS, 16], tl.float32)
    for start in range(0, n_cols, BLOCK):
        x = tl.load(p + start, mask=ok & (start + c < n_cols)[None, :], other=0.0)
        # keep the 10 high mantissa bits
        hi = (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        lo = x - hi
        acc = tl.dot(hi, ones, acc, input_precision="tf32")
        acc = tl.dot(lo, ones, acc, input_precision="tf32")
    total = tl.sum(acc, axis=1) * (1.0 / 16.0)
    tl.store(out_ptr + r, total, mask=r < n_rows)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows,), device=x.device, dtype=torch.float32)
    ROWS, BLOCK = 64, 64
    row_sum_dot[(triton.cdiv(rows, ROWS),)](x, out, rows, cols, ROWS=ROWS, BLOCK=BLOCK, num_warps=4, num_stages=4)
    return out
