"""Steps of a Cahn-Hilliard equation: a chemical potential and its Laplacian on a periodic grid."""

import torch
import torch.nn as nn

batch = 16
side = 512
TINY = {"batch": 1, "side": 8}


class Model(nn.Module):
    def __init__(self, gamma, step, rounds):
        super().__init__()
        self.gamma, self.step, self.rounds = gamma, step, rounds

    def laplacian(self, c):
        return c.roll(1, 1) + c.roll(-1, 1) + c.roll(1, 2) + c.roll(-1, 2) - 4 * c

    def forward(self, c):
        for _ in range(self.rounds):
            potential = c**3 - c - self.gamma * self.laplacian(c)
            c = c + self.step * self.laplacian(potential)
        return c


def get_inputs():
    return [0.5 * torch.randn(batch, side, side)]


def get_init_inputs():
    return [0.5, 0.02, 5]
