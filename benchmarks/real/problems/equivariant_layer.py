"""A layer on point sets that moves features and coordinates by messages between all pairs."""

import torch
import torch.nn as nn

batch = 32
points = 64
width = 64
hidden = 64
TINY = {"batch": 1, "points": 5, "width": 4, "hidden": 6}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * width + 1, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.move = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))
        self.node = nn.Sequential(nn.Linear(width + hidden, hidden), nn.SiLU(), nn.Linear(hidden, width))

    def forward(self, h, x):
        b, n, c = h.shape
        gap = x.unsqueeze(2) - x.unsqueeze(1)
        square = gap.square().sum(-1, keepdim=True)
        pair = torch.cat([h.unsqueeze(2).expand(b, n, n, c), h.unsqueeze(1).expand(b, n, n, c), square], dim=-1)
        m = self.edge(pair)
        x = x + (gap * self.move(m) / (square.sqrt() + 1)).mean(dim=2)
        return h + self.node(torch.cat([h, m.sum(dim=2)], dim=-1)), x


def get_inputs():
    return [torch.randn(batch, points, width), torch.randn(batch, points, 3)]


def get_init_inputs():
    return [width, hidden]
