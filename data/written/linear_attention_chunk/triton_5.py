import torch
import triton
import triton.language as tl

# Exploit the triangle: split the 64x64 scores in 32x32 quarters. The upper right quarter is all masked, so skip it:
#   o_top    = tril(q0 k0^T) v0
#   o_bottom = (q1 k0^T) v0 + tril(q1 k1^T) v1
# 25% fewer MMAs in both products, and only two of three quarters need the mask.


@triton.jit
def chunk_quarters(Q, K, V, O, inv_dim, D: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * (64 * D)
    t = tl.arange(0, 32)
    d = tl.arange(0, D)
    top = base + t[:, None] * D + d[None, :]
    bottom = top + 32 * D
    low = t[:, None] >= t[None, :]

    q0 = tl.load(Q + top)
    k0 = tl.load(K + top)
    q1 = tl.load(Q + bottom)
    k1 = tl.load(K + bottom)
    v0 = tl.load(V + top)
    v1 = tl.load(V + bottom)

    k0t = tl.trans(k0)
    s00 = tl.where(low, tl.dot(q0, k0t) * inv_dim, 0.0).to(tl.float16)
    s10 = (tl.dot(q1, k0t) * inv_dim).to(tl.float16)
    s11 = tl.where(low, tl.dot(q1, tl.trans(k1)) * inv_dim, 0.0).to(tl.float16)

    o0 = tl.dot(s00, v0)
    tl.store(O + top, o0.to(tl.float16))
    o1 = tl.dot(s10, v0)
    o1 = tl.dot(s11, v1, o1)
    tl.store(O + bottom, o1.to(tl.float16))


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    chunk_quarters[(heads * length // 64,)](q, k, v, out, 1.0 / dim, D=dim, num_warps=4)
    return out
