"""Fourth-order steps of a chaotic system for very many starting points."""

import torch
import torch.nn as nn

systems = 2097152
rounds = 4
TINY = {"systems": 5, "rounds": 2}


class Model(nn.Module):
    def __init__(self, step, rounds):
        super().__init__()
        self.step, self.rounds = step, rounds

    def slope(self, s):
        x, y, z = s.unbind(dim=0)
        return torch.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def forward(self, s):
        h = self.step
        for _ in range(self.rounds):
            a = self.slope(s)
            b = self.slope(s + 0.5 * h * a)
            c = self.slope(s + 0.5 * h * b)
            d = self.slope(s + h * c)
            s = s + h / 6 * (a + 2 * b + 2 * c + d)
        return s


def get_inputs():
    return [5 * torch.randn(3, systems)]


def get_init_inputs():
    return [0.01, rounds]
