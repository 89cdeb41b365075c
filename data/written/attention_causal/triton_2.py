import torch
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def _step(
    acc, l_i, m_i, q, k_ptrs, v_ptrs, start_n, offs_m, offs_n, length, qk_scale, DIM: tl.constexpr, MASKED: tl.constexpr
):
    cols = start_n + offs_n
    if MASKED:
        k = tl.load(k_ptrs + start_n * DIM, mask=cols[None, :] < length, other=0.0)
    else:
        k = tl.load(k_ptrs + start_n * DIM)
    s = tl.dot(q, k)
    if MASKED:
        s = tl.where(offs_m[:, None] >= cols[None, :], s * qk_scale, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
    else:
        # fold the scale into the subtraction -> one FMA per score
        m_new = tl.maximum(m_i, tl.max(s, 1) * qk_scale)
        p = tl.math.exp2(s * qk_scale - m_new[:, None])
    alpha = tl.math.exp2(m_i - m_new)
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None]
    if MASKED:
        v = tl.load(v_ptrs + start_n * DIM, mask=cols[:, None] < length, other=0.0)
    else:
        v = tl.load(v_ptrs + start_n * DIM)
    acc = tl.dot(p.to(tl.float16), v, acc)
    return acc, l_i, m_new


@triton.jit
def attn_two_phase(Q, K, V, O, length, qk_scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # Long programs first: the last query blocks see the most keys, so launch order is reversed.
    start_m = tl.num_programs(0) - 1 - tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * length * DIM
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, DIM)
    q = tl.load(Q + base + offs_m[:, None] * DIM + offs_d[None, :], mask=offs_m[:, None] < length, other=0.0)
    k_ptrs = K + base + offs_n[None, :] * DIM + offs_d[:, None]  # already transposed view (DIM, BLOCK_N)
    v_ptrs = V + base + offs_n[:, None] * DIM + offs_d[None, :]
    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], tl.float32)

    # phase 1: blocks strictly below the diagonal, no mask of any kind (start_m * BLOCK_M <= length always holds here)
    diag = start_m * BLOCK_M
    for start_n in range(0, diag, BLOCK_N):
        acc, l_i, m_i = _step(acc, l_i, m_i, q, k_ptrs, v_ptrs, start_n, offs_m, offs_n, length, qk_scale, DIM, False)
    # phase 2: the diagonal
    for start_n in range(diag, diag + BLOCK_M, BLOCK_N):
        acc, l_i, m_i = _step(acc, l_i, m_i, q, k_ptrs, v_ptrs, start_n, offs_m, offs_n, length, qk_scale, DIM, True)

    out = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * DIM + offs_d[None, :], out.to(tl.float16), mask=offs_m[:, None] < length)


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    BLOCK_M = 128
    BLOCK_N = 64
    grid = (triton.cdiv(length, BLOCK_M), heads)
    attn_two_phase[grid](
        q,
        k,
        v,
        out,
        length,
        dim**-0.5 * LOG2E,
        DIM=dim,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=8 if dim == 128 else 4,
        num_stages=3,
    )
    return out
