import torch
import triton
import triton.language as tl


# fp32 = hi + mid + lo in bf16 (3 x 8 bits).  Keep the products of order up to 2^-16: hh, hm, mh, mm, hl, lh = 6 bf16 wgmmas.
# bf16 tensor cores are 2x TF32, so the arithmetic costs like 3xTF32 but the operand conversion is a simple truncation.
@triton.jit
def split3(x):
    hi = x.to(tl.bfloat16)
    r = x - hi.to(tl.float32)
    mid = r.to(tl.bfloat16)
    lo = (r - mid.to(tl.float32)).to(tl.bfloat16)
    return hi, mid, lo


@triton.jit
def gemm_bf16x6(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    small = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        a0, a1, a2 = split3(a)
        b0, b1, b2 = split3(b)
        # corrections in their own accumulator, smallest first
        small = tl.dot(a2, b0, small)
        small = tl.dot(a0, b2, small)
        small = tl.dot(a1, b1, small)
        small = tl.dot(a1, b0, small)
        small = tl.dot(a0, b1, small)
        acc = tl.dot(a0, b0, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc + small, mask=(rm[:, None] < M) & (rn[None, :] < N))


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    BM, BN, BK = 64, 128, 32
    gemm_bf16x6[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
        a, b, c, M, N, K, BM=BM, BN=BN, BK=BK, num_warps=8, num_stages=3)
    return c
