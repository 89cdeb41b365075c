"""Outputs in a dictionary with lists and tuples."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, levels):
        super().__init__()
        self.levels = nn.ModuleList(nn.Conv2d(width, width, 3, stride=2, padding=1) for _ in range(levels))

    def forward(self, x):
        pyramid = []
        for level in self.levels:
            x = F.relu(level(x))
            pyramid.append(x)
        pooled = tuple(p.mean(dim=(2, 3)) for p in pyramid)
        return {"pyramid": pyramid, "pooled": pooled, "last": {"energy": x.square().sum()}}


def get_inputs():
    return [torch.randn(8, 32, 128, 128)]


def get_init_inputs():
    return [32, 3]
