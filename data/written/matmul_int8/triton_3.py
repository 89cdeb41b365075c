import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 128, "BK": 128}, num_warps=8, num_stages=3),
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=4, num_stages=4),
        triton.Config({"BM": 64, "BN": 128, "BK": 128}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 128}, num_warps=4, num_stages=4),
        triton.Config({"BM": 64, "BN": 64, "BK": 128}, num_warps=4, num_stages=4),
        triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def igemm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    nn = tl.cdiv(N, BN)
    pid_m = pid // nn
    pid_n = pid % nn
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    A = a_ptr + (rm % M)[:, None] * K + rk[None, :]
    B = b_ptr + rk[:, None] * N + (rn % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(tl.cdiv(K, BK)):
        left = K - k * BK
        a = tl.load(A, mask=rk[None, :] < left, other=0)
        b = tl.load(B, mask=rk[:, None] < left, other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        A += BK
        B += BK * N
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.int32)
    igemm[lambda m: (triton.cdiv(M, m["BM"]) * triton.cdiv(N, m["BN"]),)](a, b, c, M, N, K)
    return c
