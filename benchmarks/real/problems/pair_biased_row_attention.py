"""Attention along each row of an alignment with a bias from pair features and a sigmoid gate."""

import torch
import torch.nn as nn

rows = 64
residues = 256
width = 64
heads = 4
pair = 32
TINY = {"rows": 2, "residues": 5, "width": 8, "heads": 2, "pair": 3}


class Model(nn.Module):
    def __init__(self, width, heads, pair):
        super().__init__()
        self.heads = heads
        self.norm, self.norm_pair = nn.LayerNorm(width), nn.LayerNorm(pair)
        self.qkv, self.gate = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.bias, self.out = nn.Linear(pair, heads, bias=False), nn.Linear(width, width)

    def forward(self, m, z):
        s, r, c = m.shape
        y = self.norm(m)
        q, k, v = self.qkv(y).view(s, r, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        bias = self.bias(self.norm_pair(z)).permute(2, 0, 1)
        weights = torch.softmax(q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5 + bias, dim=-1)
        y = (weights @ v).transpose(1, 2).reshape(s, r, c) * torch.sigmoid(self.gate(y))
        return m + self.out(y)


def get_inputs():
    return [torch.randn(rows, residues, width), torch.randn(residues, residues, pair)]


def get_init_inputs():
    return [width, heads, pair]
