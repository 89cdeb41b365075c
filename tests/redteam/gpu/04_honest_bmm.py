# task: batched_matmul
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"M": 128, "N": 256, "K": 64}, num_warps=8, num_stages=3),
                  triton.Config({"M": 128, "N": 128, "K": 64}, num_warps=8, num_stages=4),
                  triton.Config({"M": 128, "N": 128, "K": 64}, num_warps=4, num_stages=3)], key=["m", "n", "k"])
@triton.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z = tl.program_id(2).to(tl.int64)
    a += z * m * k
    b += z * k * n
    c += z * m * n
    r = tl.program_id(1) * M + tl.arange(0, M)
    s = tl.program_id(0) * N + tl.arange(0, N)
    t = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        x = tl.load(a + (r % m)[:, None] * k + (start + t)[None, :], mask=(start + t)[None, :] < k, other=0.0)
        y = tl.load(b + (start + t)[:, None] * n + (s % n)[None, :], mask=(start + t)[:, None] < k, other=0.0)
        total += tl.dot(x, y)
    tl.store(c + r[:, None] * n + s[None, :], total.to(tl.float16), mask=(r[:, None] < m) & (s[None, :] < n))


def kernel(a, b):
    z, m, k = a.shape
    n = b.shape[2]
    c = torch.empty((z, m, n), dtype=a.dtype, device=a.device)
    product[lambda g: (triton.cdiv(n, g["N"]), triton.cdiv(m, g["M"]), z)](a, b, c, m, n, k)
    return c
