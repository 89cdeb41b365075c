"""Correlations of features with those of a second frame at all small displacements."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
channels = 128
side = 64
reach = 4
TINY = {"batch": 1, "channels": 4, "side": 8, "reach": 2}


class Model(nn.Module):
    def __init__(self, reach):
        super().__init__()
        self.reach = reach

    def forward(self, a, b):
        h, w = a.shape[2:]
        r = self.reach
        padded = F.pad(b, (r, r, r, r))
        costs = [
            (a * padded[:, :, dy : dy + h, dx : dx + w]).mean(dim=1)
            for dy in range(2 * r + 1)
            for dx in range(2 * r + 1)
        ]
        return F.leaky_relu(torch.stack(costs, dim=1), 0.1)


def get_inputs():
    return [torch.randn(batch, channels, side, side), torch.randn(batch, channels, side, side)]


def get_init_inputs():
    return [reach]
