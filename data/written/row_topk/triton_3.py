import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"R": 1, "T": 256}, num_warps=1),
        triton.Config({"R": 4, "T": 128}, num_warps=4),
        triton.Config({"R": 4, "T": 256}, num_warps=4),
        triton.Config({"R": 8, "T": 128}, num_warps=4),
        triton.Config({"R": 16, "T": 64}, num_warps=4),
    ],
    key=["rows", "cols"],
)
@triton.jit
def topk_stream(X, OUT, rows, cols, R: tl.constexpr, T: tl.constexpr, K: tl.constexpr):
    # streaming: keep the best 8 per *column slot* with a compare-exchange chain (bubble a new tile through 8 sorted
    # registers), which is purely elementwise; only the final merge of 8 x T candidates crosses threads
    r = tl.program_id(0) * R + tl.arange(0, R)
    t = tl.arange(0, T)
    NEG = -float("inf")
    m0 = tl.full([R, T], NEG, tl.float32)
    m1 = tl.full([R, T], NEG, tl.float32)
    m2 = tl.full([R, T], NEG, tl.float32)
    m3 = tl.full([R, T], NEG, tl.float32)
    m4 = tl.full([R, T], NEG, tl.float32)
    m5 = tl.full([R, T], NEG, tl.float32)
    m6 = tl.full([R, T], NEG, tl.float32)
    m7 = tl.full([R, T], NEG, tl.float32)
    for c0 in range(0, cols, T):
        c = c0 + t
        mask = (r[:, None] < rows) & (c[None, :] < cols)
        v = tl.load(X + r.to(tl.int64)[:, None] * cols + c[None, :], mask=mask, other=NEG)
        m0, v = tl.maximum(m0, v), tl.minimum(m0, v)
        m1, v = tl.maximum(m1, v), tl.minimum(m1, v)
        m2, v = tl.maximum(m2, v), tl.minimum(m2, v)
        m3, v = tl.maximum(m3, v), tl.minimum(m3, v)
        m4, v = tl.maximum(m4, v), tl.minimum(m4, v)
        m5, v = tl.maximum(m5, v), tl.minimum(m5, v)
        m6, v = tl.maximum(m6, v), tl.minimum(m6, v)
        m7 = tl.maximum(m7, v)
    # pop the largest head 8 times; the slot that gave it shifts its list up
    for k in tl.static_range(K):
        top, at = tl.max(m0, axis=1, return_indices=True)
        tl.store(OUT + r * K + k, top, mask=r < rows)
        hit = t[None, :] == at[:, None]
        m0 = tl.where(hit, m1, m0)
        m1 = tl.where(hit, m2, m1)
        m2 = tl.where(hit, m3, m2)
        m3 = tl.where(hit, m4, m3)
        m4 = tl.where(hit, m5, m4)
        m5 = tl.where(hit, m6, m5)
        m6 = tl.where(hit, m7, m6)
        m7 = tl.where(hit, NEG, m7)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows, 8), device=x.device, dtype=x.dtype)
    topk_stream[lambda m: (triton.cdiv(rows, m["R"]),)](x, out, rows, cols, K=8)
    return out
