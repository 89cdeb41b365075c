"""Softmax over attention scores with a linear distance bias per head (ALiBi, symmetric)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads, scale):
        super().__init__()
        self.scale = scale
        self.register_buffer("slopes", 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads))

    def forward(self, scores):
        queries, keys = scores.shape[-2:]
        row = torch.arange(queries, device=scores.device) + (keys - queries)
        distance = (row[:, None] - torch.arange(keys, device=scores.device)[None, :]).abs()
        bias = -self.slopes[:, None, None] * distance
        return torch.softmax(scores.float() * self.scale + bias, dim=-1).to(scores.dtype)


batch = 4
heads = 16
queries = 1024
keys = 4096


def get_inputs():
    return [torch.randn(batch, heads, queries, keys, dtype=torch.float16)]


def get_init_inputs():
    return [heads, 0.125]
