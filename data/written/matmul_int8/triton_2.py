import torch
import triton
import triton.language as tl


# 8-bit wgmma wants both operands K-major.  B arrives N-major, so transpose it once into [N, K] (2 MB, cheap, stays in
# L2) and run a NT GEMM.
@triton.jit
def transpose_i8(src, dst, R, C, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    x = tl.load(src + r[:, None] * C + c[None, :], mask=(r[:, None] < R) & (c[None, :] < C), other=0)
    tl.store(dst + c[:, None] * R + r[None, :], tl.trans(x), mask=(c[:, None] < C) & (r[None, :] < R))


@triton.jit
def gemm_nt_i8(a_ptr, bt_ptr, c_ptr, M, N, K,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    grid_m = tl.cdiv(M, BM)
    grid_n = tl.cdiv(N, BN)
    width = GROUP * grid_n
    g = pid // width
    size = min(grid_m - g * GROUP, GROUP)
    pid_m = g * GROUP + (pid % width) % size
    pid_n = (pid % width) // size
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = bt_ptr + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, K, BK):
        km = rk < K - k
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & km[None, :], other=0)
        b = tl.load(b_ptrs, mask=(rn[None, :] < N) & km[:, None], other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        a_ptrs += BK
        b_ptrs += BK
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    bt = torch.empty((N, K), device=b.device, dtype=torch.int8)
    c = torch.empty((M, N), device=a.device, dtype=torch.int32)
    transpose_i8[(triton.cdiv(K, 64), triton.cdiv(N, 64))](b, bt, K, N, BR=64, BC=64, num_warps=4)
    BM, BN, BK = 128, 128, 128
    gemm_nt_i8[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
        a, bt, c, M, N, K, BM=BM, BN=BN, BK=BK, GROUP=8, num_warps=8, num_stages=3)
    return c
