"""A causal normalisation along the last axis: running root mean square and running mean of everything seen so far."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        count = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
        mean = torch.cumsum(x, dim=-1) / count
        square = torch.cumsum(x * x, dim=-1) / count
        return x * torch.rsqrt(square + self.eps) - mean


rows = 8192
length = 8192


def get_inputs():
    return [torch.randn(rows, length)]


def get_init_inputs():
    return [1e-2]
