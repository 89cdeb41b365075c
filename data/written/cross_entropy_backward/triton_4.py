import torch
import triton
import triton.language as tl


@triton.jit
def ce_bwd_persistent(
    logits_ptr,
    targets_ptr,
    grad_ptr,
    out_ptr,
    n_rows,
    n_cols,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):
    # persistent loop over rows, prefetching upcoming rows through the software pipeliner
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    start = tl.program_id(0)
    for row in tl.range(start, n_rows, tl.num_programs(0), num_stages=STAGES):
        off = row.to(tl.int64) * n_cols
        x = tl.load(logits_ptr + off + cols, mask=mask, other=float("-inf")).to(tl.float32)
        t = tl.load(targets_ptr + row)
        g = tl.load(grad_ptr + row)
        m = tl.max(x, axis=0)
        e = tl.exp(x - m)
        s = tl.sum(e, axis=0)
        y = e * (g / s)
        y = y - tl.where(cols == t, g, 0.0)
        tl.store(out_ptr + off + cols, y.to(tl.bfloat16), mask=mask, cache_modifier=".cs")


def kernel(logits, targets, grad):
    n_rows, n_cols = logits.shape
    out = torch.empty_like(logits)
    BLOCK = triton.next_power_of_2(n_cols)
    warps = 8 if BLOCK >= 4096 else 2
    ctas = 4 if BLOCK >= 4096 else 16
    grid = (min(n_rows, 132 * ctas),)
    ce_bwd_persistent[grid](logits, targets, grad, out, n_rows, n_cols, BLOCK=BLOCK, STAGES=3, num_warps=warps)
    return out
