"""Attention along the rows and then along the columns of a feature map."""

import torch
import torch.nn as nn

batch = 4
side = 64
width = 128
heads = 4
TINY = {"batch": 1, "side": 8, "width": 16, "heads": 2}


class Axis(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        a, b, t, c = x.shape
        q, k, v = self.qkv(x).view(a, b, t, 3, self.heads, -1).permute(3, 0, 1, 4, 2, 5)
        weights = torch.softmax(q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5, dim=-1)
        return self.out((weights @ v).transpose(2, 3).reshape(a, b, t, c))


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.rows, self.columns = Axis(width, heads), Axis(width, heads)

    def forward(self, x):
        x = x + self.rows(x)
        return x + self.columns(x.transpose(1, 2)).transpose(1, 2)


def get_inputs():
    return [torch.randn(batch, side, side, width)]


def get_init_inputs():
    return [width, heads]
