# task: problem.py
# honest: 28_honest_product.py

import torch, triton
import triton.language as tl
import torch.nn as nn

@triton.jit
def k(a, b, o, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, G: tl.constexpr):
    p = tl.program_id(0)
    tiles = n // N
    group = p // (G * tiles)
    row = group * G + p % G
    col = (p % (G * tiles)) // G
    i = row * M + tl.arange(0, M)
    j = col * N + tl.arange(0, N)
    c = tl.arange(0, K)
    pa = a + i[:, None] * n + c[None, :]
    pb = b + c[:, None] * n + j[None, :]
    s = tl.zeros([M, N], tl.float32)
    for _ in range(0, n, K):
        s = tl.dot(tl.load(pa), tl.load(pb), s, input_precision="tf32x3")
        pa += K
        pb += K * n
    tl.store(o + i[:, None] * n + j[None, :], s)

class ModelNew(nn.Module):
    def forward(self, a, b):
        n = a.shape[0]
        o = torch.empty_like(a)
        k[((n // 128) * (n // 128),)](a, b, o, n, M=128, N=128, K=32, G=8, num_warps=8, num_stages=3)
        return o
