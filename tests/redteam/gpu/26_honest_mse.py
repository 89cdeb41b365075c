# task: problem.py
# honest: 26_honest_mse.py

import torch, triton
import triton.language as tl
import torch.nn as nn

@triton.jit
def part(a, b, o, span, B: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, B)
    s = tl.zeros([B], tl.float32)
    for at in range(0, span, B):
        d = tl.load(a + p * 32768 + at + i) - tl.load(b + p * 32768 + at + i)
        s += d * d
    tl.store(o + p, tl.sum(s, 0))

@triton.jit
def total(o, r, count, scale, B: tl.constexpr):
    i = tl.arange(0, B)
    s = tl.zeros([B], tl.float32)
    for at in range(0, count, B):
        s += tl.load(o + at + i)
    tl.store(r, tl.sum(s, 0) * scale)

class ModelNew(nn.Module):
    def forward(self, a, b):
        n, each = a.numel(), 32768
        read = each
        count = n // each
        o = torch.empty(count, device=a.device, dtype=torch.float32)
        r = torch.empty((), device=a.device, dtype=torch.float32)
        part[(count,)](a, b, o, read, B=2048, num_warps=8)
        total[(1,)](o, r, count, 1.0 / (count * read), B=2048, num_warps=8)
        return r
