"""Bright details of an image: what an opening by a square removes, plus the dark details that a closing fills."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
side = 768
size = 9
TINY = {"batch": 1, "side": 12, "size": 3}


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def dilated(self, x):
        return F.max_pool2d(x, self.size, stride=1, padding=self.size // 2)

    def eroded(self, x):
        return -self.dilated(-x)

    def forward(self, x):
        opened, closed = self.dilated(self.eroded(x)), self.eroded(self.dilated(x))
        return x - opened, closed - x


def get_inputs():
    return [torch.rand(batch, 1, side, side)]


def get_init_inputs():
    return [size]
