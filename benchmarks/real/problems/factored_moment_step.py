"""An optimiser step with row and column averages in the place of a full second moment, and a clipped update."""

import torch
import torch.nn as nn

rows = 8192
columns = 4096
TINY = {"rows": 6, "columns": 8}


class Model(nn.Module):
    def forward(self, weight, grad, row, column):
        square = grad.square() + 1e-30
        row = 0.9 * row + 0.1 * square.mean(dim=1)
        column = 0.9 * column + 0.1 * square.mean(dim=0)
        scale = torch.rsqrt(row / row.mean()).unsqueeze(1) * torch.rsqrt(column).unsqueeze(0)
        update = grad * scale
        update = update / (update.square().mean().sqrt() / 1.0).clamp(min=1.0)
        size = weight.square().mean().sqrt().clamp(min=1e-3)
        return weight - 0.3 * size * update, row, column


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows, columns), torch.rand(rows) + 0.1, torch.rand(columns) + 0.1]


def get_init_inputs():
    return []
