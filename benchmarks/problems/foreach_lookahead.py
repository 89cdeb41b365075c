"""A slow copy of weights moved towards fast ones with multi-tensor operations."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, slow, fast):
        return list(torch._foreach_lerp(slow, fast, self.alpha))


def get_inputs():
    return [[torch.randn(1024, 512) for _ in range(6)], [torch.randn(1024, 512) for _ in range(6)]]


def get_init_inputs():
    return [0.5]
