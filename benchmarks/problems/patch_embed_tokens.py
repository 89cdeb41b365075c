"""Images cut into patches by reshapes, projected, with a class token and positions."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size, patch, width):
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(3 * patch * patch, width)
        self.cls = nn.Parameter(torch.randn(1, 1, width))
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)

    @torch.no_grad()
    def forward(self, x):
        b, c, h, w = x.shape
        p = self.patch
        x = x.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p * p * c)
        return torch.cat([self.cls.expand(b, -1, -1), self.proj(x)], dim=1) + self.pos


def get_inputs():
    return [torch.rand(32, 3, 224, 224)]


def get_init_inputs():
    return [224, 16, 384]
