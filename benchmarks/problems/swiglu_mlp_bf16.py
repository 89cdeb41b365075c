"""A gated MLP with one fused input projection."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w13 = nn.Linear(width, 2 * hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.to(torch.bfloat16)

    def forward(self, x):
        gate, up = self.w13(x).chunk(2, dim=-1)
        return x + self.w2(F.silu(gate) * up)


def get_inputs():
    return [torch.randn(4096, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return [1024, 2816]
