"""Weighted sums of embedding rows (bags of fixed size), scaled to unit length."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.table = nn.Embedding(entries, width)

    def forward(self, indices, weights):
        bags = (self.table(indices) * weights[..., None]).sum(dim=1)
        return F.normalize(bags, dim=-1, eps=1e-6)


entries = 500000
width = 128
bags = 65536
bag_size = 32


def get_inputs():
    return [torch.randint(0, entries, (bags, bag_size)), torch.rand(bags, bag_size)]


def get_init_inputs():
    return [entries, width]
