# task: attention_alibi
# honest: 30_honest_alibi.py
import torch, triton
import triton.language as tl

@triton.jit
def k(q, kk, v, o, length, heads, far, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, SKIP: tl.constexpr):
    h = tl.program_id(1)
    block = tl.cdiv(length, M) - 1 - tl.program_id(0)
    base = h.to(tl.int64) * length * D
    i = block * M + tl.arange(0, M)
    d = tl.arange(0, D)
    slope = tl.exp2(-8.0 * (h + 1).to(tl.float32) / heads)
    log2e = 1.4426950408889634
    qs = tl.load(q + base + i[:, None] * D + d[None, :], mask=i[:, None] < length, other=0.0)
    scale = log2e / tl.sqrt(D * 1.0)
    top = tl.full([M], -1.0e30, tl.float32)
    total = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    start = 0
    if SKIP:
        reach = (far / slope).to(tl.int32)
        start = tl.maximum(block * M - reach, 0) // N * N
    end = tl.minimum((block + 1) * M, length)
    for j0 in range(start, end, N):
        j = j0 + tl.arange(0, N)
        ks = tl.load(kk + base + j[None, :] * D + d[:, None], mask=j[None, :] < length, other=0.0)
        back = i[:, None] - j[None, :]
        s = tl.dot(qs, ks) * scale - (slope * log2e) * back.to(tl.float32)
        s = tl.where((back >= 0) & (j[None, :] < length), s, -1.0e30)
        now = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        fade = tl.exp2(top - now)
        total = total * fade + tl.sum(p, 1)
        vs = tl.load(v + base + j[:, None] * D + d[None, :], mask=j[:, None] < length, other=0.0)
        acc = tl.dot(p.to(tl.float16), vs, acc * fade[:, None])
        top = now
    tl.store(o + base + i[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16), mask=i[:, None] < length)

SKIP = False

def kernel(q, kk, v):
    heads, length, dim = q.shape
    o = torch.empty_like(q)
    k[(triton.cdiv(length, 128), heads)](q, kk, v, o, length, heads, 20.0, D=dim, M=128, N=64, SKIP=SKIP, num_warps=8 if dim > 64 else 4, num_stages=3)
    return o
