import torch
import triton
import triton.language as tl

# Pack the 4 query heads of a group into the M dimension of the tile: rows of the tile are (head-in-group, query)
# pairs, so each K/V tile that is loaded serves 4 heads at once.


@triton.jit
def gqa_packed(Q, K, V, O, length, qk_scale, GROUP: tl.constexpr, D: tl.constexpr, BQ: tl.constexpr, BN: tl.constexpr):
    BM: tl.constexpr = BQ * GROUP
    qblk = tl.program_id(0)
    kv = tl.program_id(1)

    r = tl.arange(0, BM)
    g = r // BQ
    pos = qblk * BQ + r % BQ
    row = (kv * GROUP + g) * length + pos  # row index in the (heads * length, D) view
    ok = pos < length
    d = tl.arange(0, D)

    q = tl.load(Q + row[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
    k_ptrs = K + kv * length * D + tl.arange(0, BN)[None, :] * D + d[:, None]
    v_ptrs = V + kv * length * D + tl.arange(0, BN)[:, None] * D + d[None, :]

    m = tl.full([BM], -1.0e30, tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)

    full = length // BN * BN
    for n in range(0, full, BN):  # no masks in the main loop
        k = tl.load(k_ptrs)
        s = tl.dot(q, k)
        mn = tl.maximum(m, tl.max(s, 1) * qk_scale)
        p = tl.exp2(s * qk_scale - mn[:, None])
        a = tl.exp2(m - mn)
        l = l * a + tl.sum(p, 1)
        acc = acc * a[:, None]
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(tl.float16), v, acc)
        m = mn
        k_ptrs += BN * D
        v_ptrs += BN * D
    if full < length:
        left = full + tl.arange(0, BN) < length
        k = tl.load(k_ptrs, mask=left[None, :], other=0.0)
        v = tl.load(v_ptrs, mask=left[:, None], other=0.0)
        s = tl.where(left[None, :], tl.dot(q, k) * qk_scale, -1.0e30)
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - mn[:, None])
        a = tl.exp2(m - mn)
        l = l * a + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * a[:, None])

    tl.store(O + row[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16), mask=ok[:, None])


def kernel(q, k, v):
    heads, length, dim = q.shape
    kv_heads = k.shape[0]
    out = torch.empty_like(q)
    BQ = 32
    gqa_packed[(triton.cdiv(length, BQ), kv_heads)](
        q,
        k,
        v,
        out,
        length,
        dim**-0.5 * 1.4426950408889634,
        GROUP=heads // kv_heads,
        D=dim,
        BQ=BQ,
        BN=64,
        num_warps=8 if dim == 128 else 4,
        num_stages=3,
    )
    return out
