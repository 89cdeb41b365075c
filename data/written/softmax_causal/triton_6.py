import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1}, num_warps=2),
        triton.Config({"ROWS": 1}, num_warps=4),
        triton.Config({"ROWS": 1}, num_warps=8),
        triton.Config({"ROWS": 2}, num_warps=4),
        triton.Config({"ROWS": 4}, num_warps=8),
    ],
    key=["batch", "size"],
)
@triton.jit
def causal_softmax_tuned(x_ptr, out_ptr, batch, size, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # 2D tile over flattened rows; every load goes through one masked access, the hardware skips fully masked sectors
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    diag = (r % size)[:, None]
    valid = (r < batch * size)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    offs = r.to(tl.int64)[:, None] * size + c
    seen = valid & (c <= diag)
    x = tl.load(x_ptr + offs, mask=seen, other=-60000.0, eviction_policy="evict_first").to(tl.float32)
    m = tl.max(x, axis=1)
    e = tl.where(seen, tl.exp2((x - m[:, None]) * 1.4426950408889634), 0.0)
    s = tl.sum(e, axis=1)
    y = e * (1.0 / s)[:, None]
    tl.store(out_ptr + offs, y.to(out_ptr.dtype.element_ty), mask=valid & (c < size), cache_modifier=".cs")


def kernel(x):
    batch, size, _ = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(size)
    grid = lambda meta: (triton.cdiv(batch * size, meta["ROWS"]),)
    causal_softmax_tuned[grid](x, out, batch, size, BLOCK=BLOCK)
    return out
