"""A bilinear form per row, written with einsum."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, left, right):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(left, right) / left)

    def forward(self, a, b):
        return torch.einsum("ni,ij,nj->n", a, self.weight, b)


def get_inputs():
    return [torch.randn(16384, 512), torch.randn(16384, 512)]


def get_init_inputs():
    return [512, 512]
