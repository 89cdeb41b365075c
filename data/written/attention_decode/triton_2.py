import torch
import triton
import triton.language as tl

# Flash-decoding: split the keys over programs, write partial (acc, max, sum), merge in a second small kernel.


@triton.jit
def decode_split(Q, K, V, PART, ML, length, per_split, qk_scale, D: tl.constexpr, BN: tl.constexpr):
    split = tl.program_id(0)
    head = tl.program_id(1)
    splits = tl.num_programs(0)
    d = tl.arange(0, D)
    q = tl.load(Q + head * D + d).to(tl.float32) * qk_scale
    base = head.to(tl.int64) * length * D
    lo = split * per_split
    hi = tl.minimum(lo + per_split, length)
    m = -1e30
    l = 0.0
    acc = tl.zeros([D], tl.float32)
    for n0 in range(lo, hi, BN):
        n = n0 + tl.arange(0, BN)
        ok = n < hi
        k = tl.load(K + base + n[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
        v = tl.load(V + base + n[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
        s = tl.where(ok, tl.sum(k.to(tl.float32) * q[None, :], 1), -1e30)
        mn = tl.maximum(m, tl.max(s, 0))
        p = tl.where(ok, tl.exp2(s - mn), 0.0)
        a = tl.exp2(m - mn)
        l = l * a + tl.sum(p, 0)
        acc = acc * a + tl.sum(p[:, None] * v.to(tl.float32), 0)
        m = mn
    slot = head * splits + split
    tl.store(PART + slot * D + d, acc)
    tl.store(ML + slot * 2, m)
    tl.store(ML + slot * 2 + 1, l)


@triton.jit
def decode_merge(PART, ML, O, splits, D: tl.constexpr, S: tl.constexpr):
    head = tl.program_id(0)
    s = tl.arange(0, S)
    d = tl.arange(0, D)
    ok = s < splits
    m = tl.load(ML + (head * splits + s) * 2, mask=ok, other=-1e30)
    l = tl.load(ML + (head * splits + s) * 2 + 1, mask=ok, other=0.0)
    part = tl.load(PART + (head * splits + s)[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
    w = tl.exp2(m - tl.max(m, 0))
    total = tl.sum(w * l, 0)
    tl.store(O + head * D + d, (tl.sum(part * w[:, None], 0) / total).to(tl.float16))


def kernel(q, k, v):
    heads, length, dim = k.shape
    out = torch.empty_like(q)
    # aim at ~4 programs per SM
    splits = max(1, min(triton.cdiv(length, 128), triton.cdiv(528, heads)))
    per_split = triton.cdiv(triton.cdiv(length, splits), 64) * 64
    splits = triton.cdiv(length, per_split)
    part = torch.empty((heads, splits, dim), device=q.device, dtype=torch.float32)
    ml = torch.empty((heads, splits, 2), device=q.device, dtype=torch.float32)
    decode_split[(splits, heads)](
        q, k, v, part, ml, length, per_split, dim**-0.5 * 1.4426950408889634, D=dim, BN=64, num_warps=4, num_stages=3
    )
    decode_merge[(heads,)](part, ml, out, splits, D=dim, S=triton.next_power_of_2(splits), num_warps=2)
    return out
