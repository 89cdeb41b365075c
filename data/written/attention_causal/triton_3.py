import torch
import triton
import triton.language as tl

configs = [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_warps=8, num_stages=2),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=4, num_stages=3),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=4),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 32}, num_warps=4, num_stages=4),
]


@triton.autotune(configs=configs, key=["length", "DIM", "heads"])
@triton.jit
def flash_causal(Q, K, V, O, heads, length, qk_scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    # heads fastest: all heads of the heaviest query block go out first, light blocks fill the tail
    head = pid % heads
    start_m = tl.cdiv(length, BLOCK_M) - 1 - pid // heads
    base = head.to(tl.int64) * length * DIM

    q_bp = tl.make_block_ptr(Q + base, (length, DIM), (DIM, 1), (start_m * BLOCK_M, 0), (BLOCK_M, DIM), (1, 0))
    kt_bp = tl.make_block_ptr(K + base, (DIM, length), (1, DIM), (0, 0), (DIM, BLOCK_N), (0, 1))
    v_bp = tl.make_block_ptr(V + base, (length, DIM), (DIM, 1), (0, 0), (BLOCK_N, DIM), (1, 0))
    o_bp = tl.make_block_ptr(O + base, (length, DIM), (DIM, 1), (start_m * BLOCK_M, 0), (BLOCK_M, DIM), (1, 0))

    q = tl.load(q_bp, boundary_check=(0,), padding_option="zero")
    q = (q * qk_scale).to(tl.float16)

    rows = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    m = tl.full([BLOCK_M], -1e30, tl.float32)
    denom = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], dtype=tl.float32)

    hi = tl.minimum((start_m + 1) * BLOCK_M, length)
    for n in tl.range(0, hi, BLOCK_N):
        kt = tl.load(kt_bp, boundary_check=(1,), padding_option="zero")
        v = tl.load(v_bp, boundary_check=(0,), padding_option="zero")
        s = tl.dot(q, kt)
        if n + BLOCK_N > start_m * BLOCK_M:
            cols = n + tl.arange(0, BLOCK_N)
            s = tl.where(rows[:, None] >= cols[None, :], s, -1e30)
        m_next = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_next[:, None])
        corr = tl.exp2(m - m_next)
        denom = denom * corr + tl.sum(p, 1)
        acc = acc * corr[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_next
        kt_bp = tl.advance(kt_bp, (0, BLOCK_N))
        v_bp = tl.advance(v_bp, (BLOCK_N, 0))

    tl.store(o_bp, (acc / denom[:, None]).to(tl.float16), boundary_check=(0,))


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(length, meta["BLOCK_M"]) * heads,)
    flash_causal[grid](q, k, v, out, heads, length, dim**-0.5 * 1.44269504, DIM=dim)
    return out
