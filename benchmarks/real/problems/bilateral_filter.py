"""Each pixel becomes a mean of its neighbours, weighted by distance in place and in brightness."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
side = 512
reach = 2
TINY = {"batch": 1, "side": 8}


class Model(nn.Module):
    def __init__(self, reach):
        super().__init__()
        self.reach = reach

    def forward(self, x):
        r = self.reach
        padded = F.pad(x, (r, r, r, r), mode="reflect")
        total, weight = torch.zeros_like(x), torch.zeros_like(x)
        for dy in range(2 * r + 1):
            for dx in range(2 * r + 1):
                other = padded[:, :, dy : dy + x.shape[2], dx : dx + x.shape[3]]
                place = ((dy - r) ** 2 + (dx - r) ** 2) / 4.0
                w = torch.exp(-((other - x) ** 2) / 0.02 - place)
                total, weight = total + w * other, weight + w
        return total / weight


def get_inputs():
    return [torch.rand(batch, 1, side, side)]


def get_init_inputs():
    return [reach]
