import torch
import torch.nn as nn


class Model(nn.Module):
    """Which samples lie above a floor."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x > 0.0002


def get_inputs():
    return [torch.rand(16384, 8192)]


def get_init_inputs():
    return []
