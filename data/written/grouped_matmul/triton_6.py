import torch
import triton
import triton.language as tl


# Manually unrolled K by two with independent accumulators; weights are streamed (evict_first), activations kept
# (evict_last) since every n-tile of the group rereads them.
@triton.jit
def grouped_dual_acc(a_ptr, b_ptr, c_ptr, m, N, K,
                     BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_n = tl.program_id(0)
    pid_m = tl.program_id(1)
    g = tl.program_id(2)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    mm = rm[:, None] < m
    nm = rn[None, :] < N
    a_base = a_ptr + (g * m + rm)[:, None] * K
    b_base = b_ptr + g * K * N + rn[None, :]
    acc0 = tl.zeros((BM, BN), dtype=tl.float32)
    acc1 = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, 2 * BK):
        k0 = k + rk
        k1 = k + BK + rk
        a0 = tl.load(a_base + k0[None, :], mask=mm & (k0[None, :] < K), other=0.0, eviction_policy="evict_last")
        b0 = tl.load(b_base + k0[:, None] * N, mask=nm & (k0[:, None] < K), other=0.0, eviction_policy="evict_first")
        a1 = tl.load(a_base + k1[None, :], mask=mm & (k1[None, :] < K), other=0.0, eviction_policy="evict_last")
        b1 = tl.load(b_base + k1[:, None] * N, mask=nm & (k1[:, None] < K), other=0.0, eviction_policy="evict_first")
        acc0 = tl.dot(a0, b0, acc0)
        acc1 = tl.dot(a1, b1, acc1)
    out = (acc0 + acc1).to(tl.float16)
    tl.store(c_ptr + (g * m + rm)[:, None] * N + rn[None, :], out, mask=mm & nm)


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    BM, BN, BK = 64, 128, 64
    grouped_dual_acc[(triton.cdiv(N, BN), triton.cdiv(m, BM), G)](
        a, b, c, m, N, K, BM=BM, BN=BN, BK=BK, num_warps=4, num_stages=2)
    return c
