"""A 3-D convolution padded in time on one side only."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv3d(channels, channels, 3, padding=(0, 1, 1))

    def forward(self, x):
        return F.silu(self.conv(F.pad(x, (0, 0, 0, 0, 2, 0), mode="constant")))


def get_inputs():
    return [torch.randn(2, 16, 16, 64, 64)]


def get_init_inputs():
    return [16]
