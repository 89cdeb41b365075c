# task: matmul_float32
# honest: 14_honest_tf32x3.py
"""float32 products by three bfloat16 ones: 16 bits of each factor instead of 24."""
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r = tl.program_id(1) * M + tl.arange(0, M)
    s = tl.program_id(0) * N + tl.arange(0, N)
    t = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        x = tl.load(a + (r % m)[:, None] * k + (start + t)[None, :], mask=(start + t)[None, :] < k, other=0.0)
        y = tl.load(b + (start + t)[:, None] * n + (s % n)[None, :], mask=(start + t)[:, None] < k, other=0.0)
        p = x.to(tl.bfloat16)
        q = y.to(tl.bfloat16)
        total = tl.dot((x - p.to(tl.float32)).to(tl.bfloat16), q, total)
        total = tl.dot(p, (y - q.to(tl.float32)).to(tl.bfloat16), total)
        total = tl.dot(p, q, total)
    tl.store(c + r[:, None] * n + s[None, :], total, mask=(r[:, None] < m) & (s[None, :] < n))


def kernel(a, b):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    product[(triton.cdiv(n, 128), triton.cdiv(m, 64))](a, b, c, m, n, k, M=64, N=128, K=32, num_warps=4, num_stages=3)
    return c
