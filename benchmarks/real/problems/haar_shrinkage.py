"""Three levels of a Haar transform with soft thresholds on the details, and the way back."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
channels = 3
side = 512
TINY = {"batch": 1, "channels": 2, "side": 16}


class Model(nn.Module):
    def __init__(self, levels, threshold):
        super().__init__()
        self.levels, self.threshold = levels, threshold

    def shrunk(self, x):
        return torch.sign(x) * F.relu(x.abs() - self.threshold)

    def level(self, x, left):
        if left == 0:
            return x
        a, b, c, d = x[..., ::2, ::2], x[..., ::2, 1::2], x[..., 1::2, ::2], x[..., 1::2, 1::2]
        low = self.level((a + b + c + d) / 2, left - 1)
        h, v, o = self.shrunk((a - b + c - d) / 2), self.shrunk((a + b - c - d) / 2), self.shrunk((a - b - c + d) / 2)
        top = torch.stack([low + h + v + o, low - h + v - o], dim=-1).flatten(-2)
        bottom = torch.stack([low + h - v - o, low - h - v + o], dim=-1).flatten(-2)
        return torch.stack([top, bottom], dim=-2).flatten(-3, -2) / 2

    def forward(self, x):
        return self.level(x, self.levels)


def get_inputs():
    return [torch.randn(batch, channels, side, side)]


def get_init_inputs():
    return [3, 0.1]
