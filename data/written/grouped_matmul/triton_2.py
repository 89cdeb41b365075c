import torch
import triton
import triton.language as tl


# Large tiles, m-tiles of the same group and n-strip adjacent in launch order so that the B strip is read from HBM once.
@triton.jit
def grouped_gemm(a_ptr, b_ptr, c_ptr, m, N, K,
                 BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr):
    pid = tl.program_id(0)
    tm = tl.cdiv(m, BM)
    tn = tl.cdiv(N, BN)
    g = pid // (tm * tn)
    r = pid % (tm * tn)
    pid_n = r // tm
    pid_m = r % tm

    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    row = g * m + rm
    a_ptrs = a_ptr + (g * m + rm % m)[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + g.to(tl.int64) * K * N + rk[:, None] * N + (rn % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=rk[None, :] < K - k, other=0.0)
            b = tl.load(b_ptrs, mask=rk[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c_ptr + row[:, None] * N + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < m) & (rn[None, :] < N))


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    if m <= 64:
        BM, BN, BK, warps, stages = 64, 128, 64, 4, 4
    else:
        BM, BN, BK, warps, stages = 128, 256, 64, 8, 3
    grid = (G * triton.cdiv(m, BM) * triton.cdiv(N, BN),)
    grouped_gemm[grid](a, b, c, m, N, K, BM=BM, BN=BN, BK=BK, EVEN_K=K % BK == 0, num_warps=warps, num_stages=stages)
    return c
