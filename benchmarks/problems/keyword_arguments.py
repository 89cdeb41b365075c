"""Keyword arguments with defaults, in forward and in submodules."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Scaled(nn.Module):
    def forward(self, x, *, scale=1.0, shift=0.0):
        return x * scale + shift


class Model(nn.Module):
    def __init__(self, width, *, eps=1e-5, bias=True):
        super().__init__()
        self.proj = nn.Linear(in_features=width, out_features=width, bias=bias)
        self.scaled = Scaled()
        self.eps = eps

    def forward(self, x, mask=None, scale=0.5):
        y = self.scaled(self.proj(x), scale=scale, shift=self.eps)
        if mask is not None:
            y = y.masked_fill(mask, value=0.0)
        return F.softmax(y, dim=-1, dtype=torch.float32)


def get_inputs():
    return [torch.randn(4096, 1024), torch.rand(4096, 1024) > 0.9]


def get_init_inputs():
    return [1024]
