import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1}, num_warps=4),
        triton.Config({"ROWS": 1}, num_warps=8),
        triton.Config({"ROWS": 1}, num_warps=16),
        triton.Config({"ROWS": 2}, num_warps=8),
        triton.Config({"ROWS": 4}, num_warps=4),
        triton.Config({"ROWS": 8}, num_warps=8),
    ],
    key=["n_rows", "n_cols"],
)
@triton.jit
def softmax_autotuned(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    offs = rows.to(tl.int64)[:, None] * n_cols + cols[None, :]
    row_ok = (rows < n_rows)[:, None]
    if EVEN:
        mask = row_ok & (cols >= 0)[None, :]
    else:
        mask = row_ok & (cols < n_cols)[None, :]
    # streaming data: neither x nor out will be used again
    x = tl.load(x_ptr + offs, mask=mask, other=-1e30, eviction_policy="evict_first")
    m = tl.max(x, 1)
    p = tl.exp(x - m[:, None])
    if not EVEN:
        p = tl.where(cols[None, :] < n_cols, p, 0.0)
    s = tl.sum(p, 1)
    y = p * (1.0 / s)[:, None]
    tl.store(out_ptr + offs, y, mask=mask, cache_modifier=".cs")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)
    softmax_autotuned[grid](x, out, rows, cols, BLOCK=BLOCK, EVEN=(BLOCK == cols))
    return out
