import torch
import triton
import triton.language as tl


@triton.jit
def causal_attn_fwd(Q, K, V, O, length, scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # one program = one block of queries of one head, flash attention style online softmax
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * DIM

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, DIM)

    q = tl.load(Q + base + offs_m[:, None] * DIM + offs_d[None, :], mask=offs_m[:, None] < length, other=0.0)

    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], tl.float32)

    # keys after the last query of this block never matter
    hi = tl.minimum((start_m + 1) * BLOCK_M, length)
    for start_n in range(0, hi, BLOCK_N):
        cols = start_n + offs_n
        k = tl.load(K + base + cols[:, None] * DIM + offs_d[None, :], mask=cols[:, None] < length, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where((offs_m[:, None] >= cols[None, :]) & (cols[None, :] < length), s, -float("inf"))

        m_new = tl.maximum(m_i, tl.max(s, 1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]

        v = tl.load(V + base + cols[:, None] * DIM + offs_d[None, :], mask=cols[:, None] < length, other=0.0)
        acc += tl.dot(p.to(tl.float16), v)
        m_i = m_new

    acc = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * DIM + offs_d[None, :], acc.to(tl.float16), mask=offs_m[:, None] < length)


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    BLOCK_M, BLOCK_N = 64, 64
    grid = (triton.cdiv(length, BLOCK_M), heads)
    causal_attn_fwd[grid](
        q, k, v, out, length, dim**-0.5, DIM=dim, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=4, num_stages=2
    )
    return out
