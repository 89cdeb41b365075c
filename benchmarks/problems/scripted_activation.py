"""A TorchScript function inside the module."""

import torch
import torch.nn as nn


@torch.jit.script
def soft_gate(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(1.702 * (x + bias))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return soft_gate(x, self.bias)


def get_inputs():
    return [torch.randn(4096, 4096)]


def get_init_inputs():
    return [4096]
