import torch
import triton
import triton.language as tl


@triton.jit
def combine(v1, f1, v2, f2):
    return tl.where(f2 > 0, v2, v1 + v2), tl.maximum(f1, f2)


@triton.jit
def segcumsum_tiles(X, MARKS, OUT, rows, cols, R: tl.constexpr, T: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    t = tl.arange(0, T)
    base = r.to(tl.int64)[:, None] * cols
    carry = tl.zeros([R], tl.float32)
    for c0 in range(0, cols, T):
        c = c0 + t
        mask = (r < rows)[:, None] & (c < cols)[None, :]
        x = tl.load(X + base + c[None, :], mask=mask, other=0.0)
        m = tl.load(MARKS + base + c[None, :], mask=mask, other=1)
        f = (m == 0).to(tl.int32)
        v, seen = tl.associative_scan((x, f), 1, combine)
        # positions before the first restart of the tile continue the carried segment
        y = tl.where(seen > 0, v, v + carry[:, None])
        tl.store(OUT + base + c[None, :], y, mask=mask)
        carry = tl.sum(tl.where((t == T - 1)[None, :], y, 0.0), axis=1)


def kernel(x, marks):
    rows, cols = x.shape
    out = torch.empty_like(x)
    R, T = 4, 256
    segcumsum_tiles[(triton.cdiv(rows, R),)](x, marks, out, rows, cols, R=R, T=T, num_warps=4)
    return out
