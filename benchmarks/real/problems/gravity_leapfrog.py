"""Gravity between all bodies and one leapfrog step, in double precision."""

import torch
import torch.nn as nn

batch = 4
bodies = 1024
TINY = {"batch": 1, "bodies": 5}


class Model(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def pull(self, x, mass):
        gap = x.unsqueeze(1) - x.unsqueeze(2)
        inverse = torch.rsqrt(gap.square().sum(-1) + 0.01)
        return (gap * (mass.unsqueeze(1) * inverse**3).unsqueeze(-1)).sum(dim=2)

    def forward(self, x, v, mass):
        v = v + 0.5 * self.step * self.pull(x, mass)
        x = x + self.step * v
        return x, v + 0.5 * self.step * self.pull(x, mass)


def get_inputs():
    kind = {"dtype": torch.float64}
    places = [torch.randn(batch, bodies, 3, **kind) for _ in range(2)]
    return [*places, torch.rand(batch, bodies, **kind) / bodies]


def get_init_inputs():
    return [0.5]
