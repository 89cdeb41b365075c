"""Features made uncorrelated: their covariance, its inverse root by a Newton iteration, and the product."""

import torch
import torch.nn as nn

samples = 16384
width = 256
TINY = {"samples": 32, "width": 4}


class Model(nn.Module):
    def __init__(self, width, rounds):
        super().__init__()
        self.rounds = rounds
        self.register_buffer("one", torch.eye(width))

    def forward(self, x):
        centred = x - x.mean(dim=0)
        covariance = centred.t() @ centred / x.shape[0] + 1e-3 * self.one
        trace = covariance.diagonal().sum()
        scaled, p = covariance / trace, self.one
        for _ in range(self.rounds):
            p = 1.5 * p - 0.5 * p @ p @ p @ scaled
        return centred @ (p * torch.rsqrt(trace))


def get_inputs():
    return [torch.randn(samples, width)]


def get_init_inputs():
    return [width, 5]
