"""A layer that carries its input past itself by a learned gate, on normalised inputs."""

import torch
import torch.nn as nn

tokens = 2048
width = 512
TINY = {"tokens": 4, "width": 8}


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.both = nn.Linear(width, 2 * width)

    def forward(self, x):
        y = x - x.mean(dim=-1, keepdim=True)
        h, t = self.both(y).chunk(2, dim=-1)
        t = torch.sigmoid(t - 1.0)
        return t * torch.tanh(h) + (1 - t) * x


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width]
