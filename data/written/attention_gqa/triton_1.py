import torch
import triton
import triton.language as tl


@triton.jit
def gqa_fwd(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    length,
    scale,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    pid_m = tl.program_id(0)
    head = tl.program_id(1)
    kv_head = head // GROUP

    q_base = q_ptr + head * length * D
    k_base = k_ptr + kv_head * length * D
    v_base = v_ptr + kv_head * length * D

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    q = tl.load(q_base + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < length, other=0.0)

    m_i = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)

    for start_n in range(0, length, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        n_mask = offs_n < length
        k = tl.load(k_base + offs_n[:, None] * D + offs_d[None, :], mask=n_mask[:, None], other=0.0)
        v = tl.load(v_base + offs_n[:, None] * D + offs_d[None, :], mask=n_mask[:, None], other=0.0)
        qk = tl.dot(q, tl.trans(k)) * scale
        qk = tl.where(n_mask[None, :], qk, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), v)
        m_i = m_new

    acc = acc / l_i[:, None]
    tl.store(
        o_ptr + head * length * D + offs_m[:, None] * D + offs_d[None, :],
        acc.to(tl.float16),
        mask=offs_m[:, None] < length,
    )


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    group = heads // k.shape[0]
    grid = (triton.cdiv(length, 64), heads)
    gqa_fwd[grid](q, k, v, out, length, 1.0 / dim**0.5, GROUP=group, D=dim, BLOCK_M=64, BLOCK_N=64)
    return out
