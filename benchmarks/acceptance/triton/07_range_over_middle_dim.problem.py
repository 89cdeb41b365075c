import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Peak-to-peak range over a chosen dimension: amax - amin.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.amax(x, dim=self.dim) - torch.amin(x, dim=self.dim)


batch = 64
steps = 512
features = 1024
dim = 1


def get_inputs():
    return [torch.randn(batch, steps, features)]


def get_init_inputs():
    return [dim]
