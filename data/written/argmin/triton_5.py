import torch
import triton
import triton.language as tl


@triton.jit
def first_min(v1, i1, v2, i2):
    take1 = (v1 < v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(take1, v1, v2), tl.where(take1, i1, i2)


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1, "BLOCK": 1024}, num_warps=4),
        triton.Config({"ROWS": 2, "BLOCK": 512}, num_warps=4),
        triton.Config({"ROWS": 4, "BLOCK": 512}, num_warps=4),
        triton.Config({"ROWS": 8, "BLOCK": 256}, num_warps=4),
        triton.Config({"ROWS": 16, "BLOCK": 128}, num_warps=8),
        triton.Config({"ROWS": 8, "BLOCK": 512}, num_warps=8),
    ],
    key=["n_rows", "n_cols"],
)
@triton.jit
def argmin_reduce(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    row_ok = (r < n_rows)[:, None]
    base = x_ptr + r.to(tl.int64)[:, None] * n_cols
    best = tl.full([ROWS, BLOCK], float("inf"), tl.float32)
    at = tl.zeros([ROWS, BLOCK], tl.int32) + c[None, :]
    for start in range(0, n_cols, BLOCK):
        k = start + c[None, :]
        v = tl.load(base + k, mask=row_ok & (k < n_cols), other=float("inf"))
        better = v < best
        best = tl.where(better, v, best)
        at = tl.where(better, k, at)
    _, idx = tl.reduce((best, at), 1, first_min)
    tl.store(out_ptr + r, idx.to(tl.int64), mask=r < n_rows)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, device=x.device, dtype=torch.int64)
    grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)
    argmin_reduce[grid](x, out, rows, cols)
    return out
