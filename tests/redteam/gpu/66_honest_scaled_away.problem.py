"""A feed-forward block with layer scale, as vision transformers begin: x + gamma * W2 gelu(W1 norm(x)), gamma 1e-6."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.gamma = nn.Parameter(1e-6 * torch.ones(dim))

    def forward(self, x):
        return x + self.gamma * self.down(F.gelu(self.up(self.norm(x))))


def get_inputs():
    return [torch.randn(8192, 1024)]


def get_init_inputs():
    return [1024, 4096]
