import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# Hopper version: all operand traffic through TMA descriptors, wgmma through tl.dot, masks only on the diagonal.


@triton.jit
def attn_tma(
    q_desc, k_desc, v_desc, o_desc, length, qk_scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    pid_m = tl.num_programs(1) - 1 - tl.program_id(1)
    head = tl.program_id(0)
    row0 = pid_m * BLOCK_M

    q = q_desc.load([head, row0, 0]).reshape([BLOCK_M, DIM])

    offs_m = row0 + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_i = tl.full([BLOCK_M], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], tl.float32)

    for n0 in tl.range(0, row0, BLOCK_N):
        k = k_desc.load([head, n0, 0]).reshape([BLOCK_N, DIM])
        qk = tl.dot(q, k.T)
        m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
        p = tl.math.exp2(qk * qk_scale - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        acc = acc * alpha[:, None]
        v = v_desc.load([head, n0, 0]).reshape([BLOCK_N, DIM])
        acc = tl.dot(p.to(tl.float16), v, acc)
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m_ij

    # diagonal; rows beyond the length come back as zeros from TMA and the causal mask hides them
    for n0 in tl.range(row0, row0 + BLOCK_M, BLOCK_N):
        k = k_desc.load([head, n0, 0]).reshape([BLOCK_N, DIM])
        qk = tl.dot(q, k.T) * qk_scale
        qk = tl.where(offs_m[:, None] >= (n0 + offs_n)[None, :], qk, -1.0e9)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        acc = acc * alpha[:, None]
        v = v_desc.load([head, n0, 0]).reshape([BLOCK_N, DIM])
        acc = tl.dot(p.to(tl.float16), v, acc)
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m_ij

    acc = acc / l_i[:, None]
    o_desc.store([head, row0, 0], acc.to(tl.float16).reshape([1, BLOCK_M, DIM]))


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    BLOCK_M, BLOCK_N = 128, (128 if dim == 64 else 64)
    qd = TensorDescriptor.from_tensor(q, [1, BLOCK_M, dim])
    kd = TensorDescriptor.from_tensor(k, [1, BLOCK_N, dim])
    vd = TensorDescriptor.from_tensor(v, [1, BLOCK_N, dim])
    od = TensorDescriptor.from_tensor(out, [1, BLOCK_M, dim])
    attn_tma[(heads, triton.cdiv(length, BLOCK_M))](
        qd,
        kd,
        vd,
        od,
        length,
        dim**-0.5 * 1.4426950408889634,
        DIM=dim,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=8,
        num_stages=2,
    )
    return out
