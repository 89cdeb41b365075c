import torch
import triton
import triton.language as tl


@triton.jit
def body(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    tile = tl.program_id(0)
    across = tl.cdiv(n, BN)
    group = tile // (G * across)
    first = group * G
    rows = min(tl.cdiv(m, BM) - first, G)
    i = (first + tile % (G * across) % rows) * BM + tl.arange(0, BM)
    j = (tile % (G * across)) // rows * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        s = start + tl.arange(0, BK)
        left = tl.load(a + i[:, None] * k + s[None, :], mask=(i[:, None] < m) & (s[None, :] < k), other=0.0)
        right = tl.load(b + s[:, None] * n + j[None, :], mask=(s[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        m, k, n = a.shape[0], a.shape[1], b.shape[1]
        c = torch.empty((m, n), device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(m, 128) * triton.cdiv(n, 64),)
        body[grid](a, b, c, m, n, k, BM=128, BN=64, BK=16, G=8, num_warps=8, num_stages=3)
        return c
