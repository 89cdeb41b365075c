"""Pointwise GLU, depthwise convolution over time, normalisation and SiLU: the convolution module of a speech model."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, kernel):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1),
            nn.GLU(dim=1),
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
            nn.GroupNorm(1, width),
            nn.SiLU(inplace=True),
            nn.Conv1d(width, width, 1),
        )

    def forward(self, x):
        return x + self.net(x.transpose(1, 2)).transpose(1, 2)


def get_inputs():
    return [torch.randn(16, 512, 256)]


def get_init_inputs():
    return [256, 31]
