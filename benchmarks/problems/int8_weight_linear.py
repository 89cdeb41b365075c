"""A projection with 8-bit weights and a scale per output, on fp16 activations."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (n_out, n_in), dtype=torch.int8))
        self.register_buffer("scale", (torch.rand(n_out) * 0.001 + 0.0001).half())

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype)) * self.scale


def get_inputs():
    return [torch.randn(1024, 2048, dtype=torch.half)]


def get_init_inputs():
    return [2048, 2048]
