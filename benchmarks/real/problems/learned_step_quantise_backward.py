"""Rounding to a grid of learned step per channel, with the straight-through gradients of input and step."""

import math

import torch
import torch.nn as nn

channels = 1024
count = 16384
TINY = {"channels": 3, "count": 16}


class Model(nn.Module):
    def forward(self, x, step, grad):
        low, high = -128.0, 127.0
        ratio = x / step
        inside = (ratio > low) & (ratio < high)
        code = torch.round(ratio).clamp(low, high)
        to_step = torch.where(inside, code - ratio, code)
        scale = 1.0 / math.sqrt(x.shape[1] * high)
        return code * step, grad * inside, (grad * to_step).sum(dim=1, keepdim=True) * scale


def get_inputs():
    return [0.2 * torch.randn(channels, count), 0.004 + 0.004 * torch.rand(channels, 1), torch.randn(channels, count)]


def get_init_inputs():
    return []
