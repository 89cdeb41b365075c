"""A projection with weights reduced to their sign times a mean per output, and normalised inputs."""

import torch
import torch.nn as nn

tokens = 4096
width = 1024
outputs = 4096
TINY = {"tokens": 4, "width": 8, "outputs": 6}


class Model(nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, width) * width**-0.5)

    def forward(self, x):
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        step = 127.0 / y.abs().amax(dim=-1, keepdim=True).clamp(min=1e-5)
        y = torch.round(y * step).clamp(-128, 127) / step
        mean = self.weight.mean(dim=1, keepdim=True)
        weight = torch.sign(self.weight - mean) * self.weight.abs().mean(dim=1, keepdim=True)
        return y @ weight.t()


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width, outputs]
