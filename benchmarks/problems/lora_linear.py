"""A frozen projection with a trainable low-rank update."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha):
        super().__init__()
        self.base = nn.Linear(n_in, n_out)
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, n_in) * 0.02)
        self.b = nn.Parameter(torch.randn(n_out, rank) * 0.02)
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(x, self.a), self.b)


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return [1024, 1024, 16, 32]
