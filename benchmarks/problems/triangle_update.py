"""The multiplicative triangle update of a pair representation (as protein models have it), gated."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, 2 * hidden), nn.Linear(width, 2 * hidden)
        self.gate, self.out = nn.Linear(width, width), nn.Linear(hidden, width)

    def forward(self, z):
        z = self.norm(z)
        a, b = F.glu(self.a(z)), F.glu(self.b(z))
        return torch.sigmoid(self.gate(z)) * self.out(torch.einsum("bikc,bjkc->bijc", a, b))


def get_inputs():
    return [torch.randn(1, 192, 192, 64)]


def get_init_inputs():
    return [64, 64]
