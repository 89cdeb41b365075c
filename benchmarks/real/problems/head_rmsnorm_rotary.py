"""Queries and keys of every head normalised and rotated in interleaved pairs, values passed through."""

import torch
import torch.nn as nn

batch = 4
tokens = 2048
heads = 32
groups = 8
width = 128
TINY = {"batch": 1, "tokens": 8, "heads": 4, "groups": 2, "width": 8}


class Model(nn.Module):
    def __init__(self, heads, groups, width):
        super().__init__()
        self.split = (heads, groups, groups)
        self.q_gain, self.k_gain = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.register_buffer("frequency", 10000.0 ** (-torch.arange(0, width, 2).float() / width))

    def forward(self, qkv, positions):
        q, k, v = qkv.split(self.split, dim=2)
        angle = positions.unsqueeze(-1).float() * self.frequency
        cos, sin = angle.cos().unsqueeze(2), angle.sin().unsqueeze(2)
        outputs = []
        for x, gain in ((q, self.q_gain), (k, self.k_gain)):
            y = x.float()
            y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * gain
            even, odd = y[..., 0::2], y[..., 1::2]
            turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
            outputs.append(turned.flatten(-2).to(x.dtype))
        return (*outputs, v.contiguous())


def get_inputs():
    places = torch.arange(tokens).expand(batch, tokens).contiguous()
    return [torch.randn(batch, tokens, heads + 2 * groups, width, dtype=torch.bfloat16), places]


def get_init_inputs():
    return [heads, groups, width]
