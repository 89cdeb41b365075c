"""A network with sine activations from coordinates to colours."""

import torch
import torch.nn as nn

points = 65536
hidden = 128
layers = 3
TINY = {"points": 5, "hidden": 8, "layers": 2}


class Model(nn.Module):
    def __init__(self, hidden, layers):
        super().__init__()
        self.first, self.last = nn.Linear(2, hidden), nn.Linear(hidden, 3)
        self.hidden = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers))

    def forward(self, x):
        h = torch.sin(8.0 * self.first(x))
        for layer in self.hidden:
            h = torch.sin(3.0 * layer(h))
        return torch.sigmoid(self.last(h))


def get_inputs():
    return [2 * torch.rand(points, 2) - 1]


def get_init_inputs():
    return [hidden, layers]
