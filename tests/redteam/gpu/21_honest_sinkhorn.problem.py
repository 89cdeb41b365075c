import torch
import torch.nn as nn


class Model(nn.Module):
    """Sinkhorn normalisation: rows and columns of positive matrices are scaled by turns."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, x):
        for _ in range(self.rounds):
            x = x / x.sum(dim=2, keepdim=True)
            x = x / x.sum(dim=1, keepdim=True)
        return x


def get_inputs():
    return [torch.rand(128, 64, 64) + 0.5]


def get_init_inputs():
    return [20]
