import torch
import triton
import triton.language as tl

# Three small kernels with no online softmax at all: (1) all scores, perfectly parallel; (2) softmax statistics are
# recomputed per program from the score row (4096 floats, L2 resident); (3) weighted sum of V added with atomics.


@triton.jit
def scores_kernel(Q, K, S, length, qk_scale, D: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + head * D + d).to(tl.float32) * qk_scale
    k = tl.load(K + head.to(tl.int64) * length * D + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
    s = tl.sum(k.to(tl.float32) * q[None, :], axis=1)
    tl.store(S + head * length + n, s, mask=n < length)


@triton.jit
def weighted_v(S, V, ACC, length, D: tl.constexpr, BN: tl.constexpr, L: tl.constexpr):
    head = tl.program_id(1)
    # softmax statistics of the whole row
    i = tl.arange(0, L)
    row = tl.load(S + head * length + i, mask=i < length, other=-float("inf"))
    top = tl.max(row, 0)
    inv = 1.0 / tl.sum(tl.exp2(row - top), 0)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    s = tl.load(S + head * length + n, mask=n < length, other=-float("inf"))
    p = tl.exp2(s - top) * inv
    v = tl.load(V + head.to(tl.int64) * length * D + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
    tl.atomic_add(ACC + head * D + d, tl.sum(p[:, None] * v.to(tl.float32), 0))


@triton.jit
def to_half(ACC, O, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(O + i, tl.load(ACC + i, mask=i < n).to(tl.float16), mask=i < n)


def kernel(q, k, v):
    heads, length, dim = k.shape
    scores = torch.empty((heads, length), device=q.device, dtype=torch.float32)
    acc = torch.zeros((heads, dim), device=q.device, dtype=torch.float32)
    out = torch.empty_like(q)
    scores_kernel[(triton.cdiv(length, 64), heads)](
        q, k, scores, length, dim**-0.5 * 1.44269504, D=dim, BN=64, num_warps=4
    )
    BN = 256
    weighted_v[(triton.cdiv(length, BN), heads)](
        scores, v, acc, length, D=dim, BN=BN, L=triton.next_power_of_2(length), num_warps=8
    )
    to_half[(triton.cdiv(heads * dim, 1024),)](acc, out, heads * dim, B=1024)
    return out
