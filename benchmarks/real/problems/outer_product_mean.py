"""Outer products of two projections averaged over aligned sequences, projected to a pair representation."""

import torch
import torch.nn as nn

sequences = 128
residues = 192
width = 64
inner = 16
pair = 64
TINY = {"sequences": 3, "residues": 4, "width": 6, "inner": 3, "pair": 5}


class Model(nn.Module):
    def __init__(self, width, inner, pair):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, inner), nn.Linear(width, inner)
        self.out = nn.Linear(inner * inner, pair)

    def forward(self, m, mask):
        y = self.norm(m)
        a, b = self.a(y) * mask.unsqueeze(-1), self.b(y) * mask.unsqueeze(-1)
        outer = torch.einsum("sia,sjb->ijab", a, b).flatten(-2)
        count = torch.einsum("si,sj->ij", mask, mask).unsqueeze(-1)
        return self.out(8.0 * outer / (count + 1e-3))


def get_inputs():
    return [torch.randn(sequences, residues, width), (torch.rand(sequences, residues) > 0.1).float()]


def get_init_inputs():
    return [width, inner, pair]
