# problem: 67_slow_host.problem.py
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def iterate(v, half, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(v + i, mask=i < n, other=0.0).to(tl.float32)
    for _ in range(24):
        x = tl.sin(x).to(tl.float16).to(tl.float32)
        x = (x * 0.5).to(tl.float16).to(tl.float32)
        x = (x + 0.25).to(tl.float16).to(tl.float32)
    tl.store(half + i, x.to(tl.float16), mask=i < n)


@triton.jit
def scale(c, v, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    tl.store(c + i, tl.load(c + i, mask=inside) * tl.load(v + i % n, mask=inside), mask=inside)


class ModelNew(nn.Module):
    def forward(self, a, b, v):
        n = v.numel()
        s = torch.empty_like(v)
        iterate[(triton.cdiv(n, 128),)](v, s, n, 128, num_warps=4)
        c = a @ b
        scale[(triton.cdiv(c.numel(), 2048),)](c, s, c.numel(), n, 2048)
        return c
