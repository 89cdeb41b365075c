"""Operands rounded to 8-bit floats with a scale per block of 128, multiplied in bf16."""

import torch
import torch.nn as nn

rows = 4096
inner = 2048
columns = 2048
block = 128
TINY = {"rows": 8, "inner": 8, "columns": 8, "block": 4}


class Model(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def rounded(self, x):
        r, c = x.shape
        parts = x.float().view(r, c // self.block, self.block)
        scale = parts.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 448.0
        return ((parts / scale).to(torch.float8_e4m3fn).float() * scale).view(r, c).to(torch.bfloat16)

    def forward(self, a, b):
        return self.rounded(a) @ self.rounded(b).t()


def get_inputs():
    kind = {"dtype": torch.bfloat16}
    return [0.1 * torch.randn(rows, inner, **kind), 0.1 * torch.randn(columns, inner, **kind)]


def get_init_inputs():
    return [block]
