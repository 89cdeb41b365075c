"""A periodic activation on a signal that is doubled in rate first and halved afterwards, to keep it free of aliases."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
channels = 128
length = 4096
TINY = {"batch": 2, "channels": 4, "length": 32}


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(channels, 1) + 0.5)
        taps = torch.hann_window(14, periodic=False)[1:-1]
        self.register_buffer("taps", (taps / taps.sum()).view(1, 1, -1))

    def forward(self, x):
        c = x.shape[1]
        taps = self.taps.expand(c, 1, -1)
        wide = F.conv_transpose1d(x, 2 * taps, stride=2, padding=5, groups=c)
        wide = wide + torch.sin(self.alpha * wide).square() / (self.alpha + 1e-9)
        return F.conv1d(wide, taps, stride=2, padding=5, groups=c)


def get_inputs():
    return [torch.randn(batch, channels, length)]


def get_init_inputs():
    return [channels]
