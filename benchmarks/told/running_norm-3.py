import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add2(a, b, c, d):
    return a + c, b + d


@triton.jit
def running(x, out, length, eps, BLOCK: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * length
    a = 0.0
    b = 0.0
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + base + i, mask=i < length, other=0.0)
        sa, sb = tl.associative_scan((v, v * v), 0, add2)
        part = 1.0 / (i + 1).to(tl.float32)
        y = v * tl.rsqrt((sb + b) * part + eps) - (sa + a) * part
        tl.store(out + base + i, y, mask=i < length)
        a += tl.sum(v, 0)
        b += tl.sum(v * v, 0)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        length = x.shape[-1]
        running[(x.numel() // length,)](x, out, length, self.eps, BLOCK=min(8192, triton.next_power_of_2(length)), num_warps=8)
        return out
