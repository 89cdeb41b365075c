import torch
import torch.nn as nn


class Model(nn.Module):
    """Outliers kept, everything else marked as missing; and how much was kept."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.where(x.abs() > 3.5, x, float("nan")), (x.abs() > 3.5).sum(dim=1)


def get_inputs():
    return [torch.randn(16384, 8192)]


def get_init_inputs():
    return []
