"""Paths of a price from normal draws, their running averages, and the discounted mean payoff of each option."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

options = 64
paths = 8192
steps = 64
TINY = {"options": 2, "paths": 4, "steps": 5}


class Model(nn.Module):
    def forward(self, normal, strike, volatility):
        dt = 1.0 / normal.shape[2]
        sigma = volatility.view(-1, 1, 1)
        growth = (0.03 - 0.5 * sigma * sigma) * dt + sigma * math.sqrt(dt) * normal
        path = torch.exp(growth.cumsum(dim=2))
        payoff = F.relu(path.mean(dim=2) - strike.view(-1, 1))
        knocked = path.amin(dim=2) < 0.8
        payoff = payoff.masked_fill(knocked, 0.0)
        return payoff.mean(dim=1) * math.exp(-0.03), payoff.std(dim=1)


def get_inputs():
    return [torch.randn(options, paths, steps), 0.8 + 0.4 * torch.rand(options), 0.1 + 0.3 * torch.rand(options)]


def get_init_inputs():
    return []
