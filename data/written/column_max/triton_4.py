import torch
import triton
import triton.language as tl


# Row splits merged with float atomic max into an output prefilled with -inf. The prefill is a tiny extra launch.
@triton.jit
def fill_neg_inf(out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.full([BLOCK], -float("inf"), tl.float32), mask=i < n)


@triton.jit
def col_max_atomic(x_ptr, out_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr, ITERS: tl.constexpr):
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    base = tl.program_id(0) * BLOCK_R * ITERS
    acc = tl.full([BLOCK_R, BLOCK_C], -float("inf"), tl.float32)
    for k in tl.static_range(ITERS):
        rr = base + k * BLOCK_R + tl.arange(0, BLOCK_R)
        mask = (rr < rows)[:, None] & (c < cols)[None, :]
        v = tl.load(x_ptr + rr.to(tl.int64)[:, None] * cols + c[None, :], mask=mask, other=-float("inf"))
        acc = tl.maximum(acc, v)
    tl.atomic_max(out_ptr + c, tl.max(acc, axis=0), mask=c < cols, sem="relaxed")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(cols, device=x.device, dtype=torch.float32)
    fill_neg_inf[(triton.cdiv(cols, 1024),)](out, cols, BLOCK=1024)
    BLOCK_R, BLOCK_C, ITERS = 16, 256, 8
    grid = (triton.cdiv(rows, BLOCK_R * ITERS), triton.cdiv(cols, BLOCK_C))
    col_max_atomic[grid](x, out, rows, cols, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C, ITERS=ITERS, num_warps=8)
    return out
