"""Rows of a table by integer index, scaled by a weight per index."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.register_buffer("table", torch.randn(entries, width))

    def forward(self, index, weight):
        return torch.index_select(self.table, 0, index) * weight.unsqueeze(-1)


def get_inputs():
    return [torch.randint(0, 50000, (65536,)), torch.rand(65536)]


def get_init_inputs():
    return [50000, 128]
