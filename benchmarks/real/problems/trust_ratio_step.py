"""An Adam update with decay whose length is set to that of the weight, for one large matrix."""

import torch
import torch.nn as nn

rows = 4096
columns = 8192
TINY = {"rows": 6, "columns": 8}


class Model(nn.Module):
    def forward(self, weight, grad, first, second):
        first = 0.9 * first + 0.1 * grad
        second = 0.9 * second + 0.1 * grad * grad
        update = (first / 0.5) / (torch.sqrt(second / 0.5) + 1e-6) + 0.01 * weight
        ratio = weight.norm() / update.norm()
        return weight - 0.3 * ratio * update, first, second


def get_inputs():
    data = [torch.randn(rows, columns) for _ in range(3)]
    return [*data, torch.rand(rows, columns)]


def get_init_inputs():
    return []
