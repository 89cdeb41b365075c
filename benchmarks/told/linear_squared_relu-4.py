import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def product(x, w, z, bias, scale, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
            WHOLE: tl.constexpr):
    tile = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per = GROUP * cols
    first = (tile // per) * GROUP
    high = tl.minimum(rows - first, GROUP)
    i = (first + (tile % per) % high) * BM + tl.arange(0, BM)
    j = ((tile % per) // high) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = x + (i % M).to(tl.int64)[:, None] * K + k[None, :]
    b_at = w + (j % N).to(tl.int64)[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        if WHOLE:
            a = tl.load(a_at)
            b = tl.load(b_at)
        else:
            a = tl.load(a_at, mask=(k < K - start)[None, :], other=0.0)
            b = tl.load(b_at, mask=(k < K - start)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BK
        b_at += BK
    add = tl.load(bias + j, mask=j < N, other=0.0).to(tl.float32)
    s = tl.load(scale + j, mask=j < N, other=0.0).to(tl.float32)
    v = tl.maximum((acc + add[None, :]).to(tl.bfloat16).to(tl.float32), 0.0)
    v = (v * v).to(tl.bfloat16).to(tl.float32) * s[None, :]
    tl.store(z + i.to(tl.int64)[:, None] * N + j[None, :], v.to(tl.bfloat16), mask=(i < M)[:, None] & (j < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out).to(torch.bfloat16)
        self.scale = nn.Parameter((torch.rand(features_out) + 0.5).to(torch.bfloat16))

    @torch.no_grad()
    def forward(self, x):
        shape = x.shape[:-1]
        x = x.reshape(-1, x.shape[-1]).contiguous()
        weight = self.linear.weight
        M, K = x.shape
        N = weight.shape[0]
        z = torch.empty(M, N, device=x.device, dtype=x.dtype)
        BM, BN, BK = 128, 256, 64
        product[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
            x, weight, z, self.linear.bias, self.scale, M, N, K, BM=BM, BN=BN, BK=BK, GROUP=8, WHOLE=K % BK == 0,
            num_warps=8, num_stages=4)
        return z.reshape(*shape, N)
