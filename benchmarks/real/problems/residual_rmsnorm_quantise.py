"""A residual is added, the sum normalised, and the result rounded to an 8-bit grid with a scale per token."""

import torch
import torch.nn as nn

tokens = 8192
width = 4096
TINY = {"tokens": 4, "width": 16}


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(0.1 + 0.01 * torch.randn(width, dtype=torch.bfloat16))

    def forward(self, x, residual):
        total = x + residual
        y = total.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * self.gain.float()
        scale = y.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 127.0
        return (torch.round(y / scale).clamp(-127, 127) * scale).to(x.dtype), scale, total


def get_inputs():
    return [torch.randn(tokens, width, dtype=torch.bfloat16) for _ in range(2)]


def get_init_inputs():
    return [width]
