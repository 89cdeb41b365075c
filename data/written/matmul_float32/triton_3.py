import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 16}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 16}, num_warps=8, num_stages=3),
        triton.Config({"BM": 128, "BN": 128, "BK": 8}, num_warps=8, num_stages=3),
        triton.Config({"BM": 64, "BN": 128, "BK": 16}, num_warps=8, num_stages=4),
        triton.Config({"BM": 32, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def sgemm_tuned(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_n = tl.program_id(0)
    pid_m = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    ptr_a = a_ptr + (rm % M)[:, None] * K + rk[None, :]
    ptr_b = b_ptr + rk[:, None] * N + (rn % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        # every K here is a multiple of 16 but BK may be 32, keep the guard
        a = tl.load(ptr_a, mask=rk[None, :] < K - k, other=0.0)
        b = tl.load(ptr_b, mask=rk[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        ptr_a += BK
        ptr_b += BK * N
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    sgemm_tuned[lambda m: (triton.cdiv(N, m["BN"]), triton.cdiv(M, m["BM"]))](a, b, c, M, N, K)
    return c
