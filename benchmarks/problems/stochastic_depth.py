"""Whole samples dropped at random in forward."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.p = p

    def forward(self, x):
        keep = torch.rand(x.shape[0], 1, 1, device=x.device) >= self.p
        return x + self.fc(x) * keep / (1 - self.p)


def get_inputs():
    return [torch.randn(64, 256, 512)]


def get_init_inputs():
    return [512, 0.2]
