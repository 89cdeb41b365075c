"""Half of the channels gate the other half, then both are interleaved."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.shuffle = nn.ChannelShuffle(groups)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return self.shuffle(torch.cat([a * torch.sigmoid(b), b], dim=1))


def get_inputs():
    return [torch.randn(16, 128, 112, 112)]


def get_init_inputs():
    return [2]
