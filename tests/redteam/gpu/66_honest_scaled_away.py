# problem: 66_scaled_away.problem.py
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn


@triton.jit
def gelu(x, total, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < total)
    tl.store(x + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < total)


@triton.jit
def scaled_sum(x, y, gamma, out, total, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    g = tl.load(gamma + i % columns, mask=inside)
    tl.store(out + i, tl.load(x + i, mask=inside) + g * tl.load(y + i, mask=inside), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.gamma = nn.Parameter(1e-6 * torch.ones(dim))

    def forward(self, x):
        h = self.up(self.norm(x))
        gelu[(triton.cdiv(h.numel(), 2048),)](h, h.numel(), 2048)
        y = self.down(h)
        out = torch.empty_like(x)
        scaled_sum[(triton.cdiv(x.numel(), 2048),)](x, y, self.gamma, out, x.numel(), x.shape[1], 2048)
        return out
