"""Elementwise operations on feature maps: affine per channel, hard swish, residual, clamp, gate per channel."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels, alpha, limit):
        super().__init__()
        self.alpha = alpha
        self.limit = limit
        self.scale = nn.Parameter(torch.rand(channels) + 0.5)
        self.shift = nn.Parameter(torch.randn(channels) * 0.1)
        self.gate = nn.Parameter(torch.randn(channels))

    def forward(self, x, residual):
        channel = (1, -1, 1, 1)
        y = F.hardswish(x * self.scale.view(channel) + self.shift.view(channel))
        y = torch.clamp(y + self.alpha * residual, -self.limit, self.limit)
        return y * torch.sigmoid(self.gate.view(channel))


batch = 32
channels = 128
height = 128
width = 128


def get_inputs():
    return [torch.randn(batch, channels, height, width), torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels, 0.5, 3.0]
