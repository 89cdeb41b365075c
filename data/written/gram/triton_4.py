import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=4),
        triton.Config({"BM": 128, "BN": 128, "BK": 128}, num_warps=8, num_stages=2),
        triton.Config({"BM": 128, "BN": 64, "BK": 64}, num_warps=4, num_stages=4),
        triton.Config({"BM": 64, "BN": 64, "BK": 64}, num_warps=4, num_stages=4),
    ],
    key=["M", "K"],
)
@triton.jit
def gram_full(a_ptr, c_ptr, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # plain NT gemm of A with itself, grouped ordering
    GROUP: tl.constexpr = 8
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(M, BN)
    per = GROUP * nn
    first = pid // per * GROUP
    size = min(nm - first, GROUP)
    pm = first + (pid % per) % size
    pn = (pid % per) // size
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(a_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < M) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c_ptr + rm[:, None] * M + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < M))


def kernel(a):
    M, K = a.shape
    c = torch.empty((M, M), device=a.device, dtype=torch.float16)
    gram_full[lambda m: (triton.cdiv(M, m["BM"]) * triton.cdiv(M, m["BN"]),)](a, c, M, K)
    return c
