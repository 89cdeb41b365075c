"""A few power iterations on a weight matrix, and the weight scaled to a given largest singular value."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
columns = 2048
TINY = {"rows": 12, "columns": 8}


class Model(nn.Module):
    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, weight, u):
        for _ in range(self.rounds):
            v = F.normalize(weight.t() @ u, dim=0)
            u = F.normalize(weight @ v, dim=0)
        sigma = torch.dot(u, weight @ v)
        return weight * (100.0 / sigma), u * weight.shape[0] ** 0.5


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows)]


def get_init_inputs():
    return [3]
