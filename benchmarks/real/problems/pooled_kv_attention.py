"""Attention on a feature map whose keys and values come from averaged patches."""

import torch
import torch.nn as nn

batch = 8
side = 56
width = 128
heads = 2
pool = 8
TINY = {"batch": 1, "side": 8, "width": 16, "heads": 2, "pool": 4}


class Model(nn.Module):
    def __init__(self, width, heads, pool):
        super().__init__()
        self.heads, self.pool = heads, pool
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        b, s, _, c = x.shape
        q = self.q(x).view(b, s * s, self.heads, -1).transpose(1, 2)
        small = x.view(b, s // self.pool, self.pool, s // self.pool, self.pool, c).mean(dim=(2, 4))
        kv = self.kv(self.norm(small)).view(b, -1, 2, self.heads, c // self.heads)
        k, v = kv.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, s, s, c))


def get_inputs():
    return [torch.randn(batch, side, side, width)]


def get_init_inputs():
    return [width, heads, pool]
