import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer on a few rows: its weights are read once."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * 0.02)

    def forward(self, x):
        return x @ self.weight.t()


def get_inputs():
    return [torch.randn(1, 2048)]


def get_init_inputs():
    return [2048, 3072]
