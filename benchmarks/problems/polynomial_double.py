"""A polynomial by Horner's rule in double precision."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, coefficients):
        super().__init__()
        self.coefficients = coefficients

    def forward(self, x):
        y = torch.zeros_like(x)
        for c in self.coefficients:
            y = y * x + c
        return y


def get_inputs():
    return [torch.rand(4 * 1024 * 1024, dtype=torch.float64)]


def get_init_inputs():
    return [[0.3, -1.2, 0.7, 2.0, -0.5]]
