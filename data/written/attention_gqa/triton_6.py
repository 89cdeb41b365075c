import torch
import triton
import triton.language as tl

# Transposed formulation: S^T = K Q^T, O^T = V^T P^T. The softmax reductions run over axis 0 and the packed group of
# 4 heads sits on the N side of the MMA (64 columns = 4 heads x 16 queries). Keys are split in two streams
# (two independent online softmax states) to give the scheduler two independent chains; merged at the end.


@triton.jit
def _update(m, l, acc, kt_rows, vt, qT, valid, qk_scale):
    s = tl.dot(kt_rows, qT) * qk_scale  # (BN, COLS)
    s = tl.where(valid[:, None], s, -1e30)
    mn = tl.maximum(m, tl.max(s, 0))
    p = tl.where(valid[:, None], tl.exp2(s - mn[None, :]), 0.0)
    a = tl.exp2(m - mn)
    l = l * a + tl.sum(p, 0)
    acc = tl.dot(vt, p.to(tl.float16), acc * a[None, :])  # (D, COLS)
    return mn, l, acc


@triton.jit
def gqa_transposed(Q, K, V, O, length, qk_scale, D: tl.constexpr, BQ: tl.constexpr, BN: tl.constexpr):
    COLS: tl.constexpr = 4 * BQ
    kv = tl.program_id(1)
    c = tl.arange(0, COLS)
    pos = tl.program_id(0) * BQ + c % BQ
    col_row = (kv * 4 + c // BQ) * length + pos
    ok = pos < length
    d = tl.arange(0, D)
    qT = tl.load(Q + col_row[None, :] * D + d[:, None], mask=ok[None, :], other=0.0)  # (D, COLS)
    kb = K + kv * length * D
    vb = V + kv * length * D

    m0 = tl.full([COLS], -1e30, tl.float32)
    m1 = tl.full([COLS], -1e30, tl.float32)
    l0 = tl.zeros([COLS], tl.float32)
    l1 = tl.zeros([COLS], tl.float32)
    a0 = tl.zeros([D, COLS], tl.float32)
    a1 = tl.zeros([D, COLS], tl.float32)
    for n in range(0, length, 2 * BN):
        i0 = n + tl.arange(0, BN)
        i1 = i0 + BN
        v0 = i0 < length
        v1 = i1 < length
        k0 = tl.load(kb + i0[:, None] * D + d[None, :], mask=v0[:, None], other=0.0)
        k1 = tl.load(kb + i1[:, None] * D + d[None, :], mask=v1[:, None], other=0.0)
        vt0 = tl.load(vb + i0[None, :] * D + d[:, None], mask=v0[None, :], other=0.0)
        vt1 = tl.load(vb + i1[None, :] * D + d[:, None], mask=v1[None, :], other=0.0)
        m0, l0, a0 = _update(m0, l0, a0, k0, vt0, qT, v0, qk_scale)
        m1, l1, a1 = _update(m1, l1, a1, k1, vt1, qT, v1, qk_scale)
    m = tl.maximum(m0, m1)
    w0 = tl.exp2(m0 - m)
    w1 = tl.exp2(m1 - m)
    l = l0 * w0 + l1 * w1
    o = (a0 * w0[None, :] + a1 * w1[None, :]) / l[None, :]
    tl.store(O + col_row[None, :] * D + d[:, None], o.to(tl.float16), mask=ok[None, :])


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    BQ = 16
    gqa_transposed[(triton.cdiv(length, BQ), heads // 4)](
        q, k, v, out, length, dim**-0.5 * 1.44269504, D=dim, BQ=BQ, BN=64, num_warps=4, num_stages=2
    )
    return out
