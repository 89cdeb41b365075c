import torch
import triton
import triton.language as tl


# Within a chunk of L the recurrence is a weighted prefix sum:
#   y[t] = 0.9^(t+1) * carry + 0.9^t * cumsum(0.1 * x[s] * 0.9^-s)
# With L = 64, 0.9^-63 = 763, so fp32 has no trouble.  A plain cumsum is cheaper than a pair scan.
# Several rows per program, chunks in order with the carry in registers.
@triton.autotune(
    configs=[
        triton.Config({"ROWS": 4}, num_warps=1),
        triton.Config({"ROWS": 8}, num_warps=2),
        triton.Config({"ROWS": 16}, num_warps=4),
        triton.Config({"ROWS": 32}, num_warps=4),
        triton.Config({"ROWS": 32}, num_warps=8),
    ],
    key=["rows", "cols"],
)
@triton.jit
def ema_cumsum_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, L: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    t = tl.arange(0, L)
    LOG2_DECAY: tl.constexpr = -0.15200309344504997     # log2(0.9)
    grow = tl.exp2(-LOG2_DECAY * t.to(tl.float32))[None, :]
    shrink = tl.exp2(LOG2_DECAY * t.to(tl.float32))[None, :]
    carry = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, cols, L):
        c = start + t
        mask = (r[:, None] < rows) & (c[None, :] < cols)
        offs = r[:, None].to(tl.int64) * cols + c[None, :]
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        acc = tl.cumsum(0.1 * x * grow, axis=1)
        y = shrink * (acc + 0.9 * carry[:, None])
        tl.store(out_ptr + offs, y, mask=mask)
        # last column of the chunk becomes the carry
        carry = tl.sum(tl.where(t[None, :] == L - 1, y, 0.0), axis=1)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    grid = lambda m: (triton.cdiv(rows, m["ROWS"]),)
    ema_cumsum_kernel[grid](x, out, rows, cols, L=64)
    return out
