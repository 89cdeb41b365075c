import torch
import triton
import triton.language as tl


# Shared A tile feeds two wgmma chains; tile 128x128 each means 2 * 128 accumulator registers per thread with
# 4 warps, so use 8 warps.  Grouped launch order for L2.
@triton.jit
def fused_mlp_kernel(
    a_ptr, g_ptr, u_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, EVEN_K: tl.constexpr,
):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    in_group = GROUP * nn
    gid = pid // in_group
    first = gid * GROUP
    size = min(nm - first, GROUP)
    pid_m = first + (pid % in_group) % size
    pid_n = (pid % in_group) // size

    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + (rm % M)[:, None] * K + rk[None, :]
    b_off = rk[:, None] * N + (rn % N)[None, :]
    g_ptrs = g_ptr + b_off
    u_ptrs = u_ptr + b_off

    gate = tl.zeros((BM, BN), dtype=tl.float32)
    up = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        if EVEN_K:
            a = tl.load(a_ptrs)
            g = tl.load(g_ptrs)
            u = tl.load(u_ptrs)
        else:
            a = tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0)
            g = tl.load(g_ptrs, mask=rk[:, None] < K - k, other=0.0)
            u = tl.load(u_ptrs, mask=rk[:, None] < K - k, other=0.0)
        gate = tl.dot(a, g, gate)
        up = tl.dot(a, u, up)
        a_ptrs += BK
        g_ptrs += BK * N
        u_ptrs += BK * N

    # silu(x) = x / (1 + exp(-x))
    y = gate / (1.0 + tl.exp(-gate)) * up
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], y.to(tl.bfloat16), mask=mask)


def kernel(a, gate, up):
    M, K = a.shape
    N = gate.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    BM, BN, BK = 128, 128, 64
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    fused_mlp_kernel[grid](a, gate, up, c, M, N, K, BM=BM, BN=BN, BK=BK, GROUP=8, EVEN_K=K % BK == 0,
                           num_warps=8, num_stages=3)
    return c
