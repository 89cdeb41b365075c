"""Sums over the neighbours of a graph, given as a matrix of bytes; the graph is the same in every call."""

import torch
import torch.nn as nn

NODES, WIDTH = 8192, 64


class Model(nn.Module):
    def forward(self, adjacent, x):
        return adjacent.float() @ x


def get_inputs():
    i = torch.arange(NODES).view(-1, 1)
    j = torch.arange(NODES).view(1, -1)
    linked = (i // 64 == j // 64) & ((i * 7 + j * 13) % 5 == 0)
    return [linked.to(torch.uint8), torch.randn(NODES, WIDTH)]


def get_init_inputs():
    return []
