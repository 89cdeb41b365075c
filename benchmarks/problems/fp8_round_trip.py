"""Blocks scaled, rounded to an 8-bit float and back."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        y = x.view(x.shape[0], -1, self.block)
        scale = y.abs().amax(dim=-1, keepdim=True).clamp_min(1e-4) / 448.0
        q = (y / scale).to(torch.float8_e4m3fn)
        return (q.to(torch.float32) * scale).view_as(x)


def get_inputs():
    return [torch.randn(4096, 4096)]


def get_init_inputs():
    return [128]
