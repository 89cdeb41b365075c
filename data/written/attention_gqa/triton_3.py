import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=4),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 128}, num_warps=4, num_stages=2),
    ],
    key=["heads", "length", "D"],
)
@triton.jit
def gqa_swizzled(
    Q,
    K,
    V,
    O,
    heads,
    length,
    qk_scale,
    D: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # 1-D grid; the 4 heads of one group are adjacent in launch order, so that K/V are read from L2 while hot
    pid = tl.program_id(0)
    n_m = tl.cdiv(length, BLOCK_M)
    per_group = 4 * n_m
    kv = pid // per_group
    inner = pid % per_group
    head = kv * 4 + inner % 4
    pid_m = inner // 4

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    Qb = Q + head.to(tl.int64) * length * D
    Kb = K + kv.to(tl.int64) * length * D
    Vb = V + kv.to(tl.int64) * length * D

    q = tl.load(Qb + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < length, other=0.0)
    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for n0 in range(0, length, BLOCK_N):
        n0 = tl.multiple_of(n0, BLOCK_N)
        cols = n0 + offs_n
        if EVEN:
            k = tl.load(Kb + cols[None, :] * D + offs_d[:, None])
            s = tl.dot(q, k) * qk_scale
        else:
            k = tl.load(Kb + cols[None, :] * D + offs_d[:, None], mask=cols[None, :] < length, other=0.0)
            s = tl.dot(q, k) * qk_scale
            s = tl.where(cols[None, :] < length, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        if EVEN:
            v = tl.load(Vb + cols[:, None] * D + offs_d[None, :])
        else:
            v = tl.load(Vb + cols[:, None] * D + offs_d[None, :], mask=cols[:, None] < length, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m_new
    out = acc * (1.0 / l_i)[:, None]
    tl.store(
        O + head.to(tl.int64) * length * D + offs_m[:, None] * D + offs_d[None, :],
        out.to(tl.float16),
        mask=offs_m[:, None] < length,
    )


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    grid = lambda META: (heads * triton.cdiv(length, META["BLOCK_M"]),)
    gqa_swizzled[grid](q, k, v, out, heads, length, dim**-0.5 * 1.44269504, D=dim, EVEN=length % 128 == 0)
    return out
