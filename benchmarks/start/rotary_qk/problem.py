"""Rotary position embedding of queries and (fewer) keys, both laid out as batch, position, head, width."""

import torch
import torch.nn as nn


def rotate(x, cos, sin):
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


class Model(nn.Module):
    def __init__(self, length, width, base):
        super().__init__()
        frequency = base ** (-torch.arange(0, width, 2).float() / width)
        angle = torch.arange(length).float()[:, None] * frequency
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, q, k):
        cos, sin = self.cos[None, :, None, :], self.sin[None, :, None, :]
        return rotate(q, cos, sin), rotate(k, cos, sin)


batch = 8
length = 4096
heads = 32
key_heads = 8
width = 128


def get_inputs():
    return [
        torch.randn(batch, length, heads, width, dtype=torch.bfloat16),
        torch.randn(batch, length, key_heads, width, dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return [length, width, 10000.0]
