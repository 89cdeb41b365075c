"""Momentum made nearly orthogonal by five polynomial iterations in bf16, then applied to the weight."""

import torch
import torch.nn as nn

rows = 2048
columns = 1024
TINY = {"rows": 8, "columns": 6}


class Model(nn.Module):
    def forward(self, weight, grad, momentum):
        momentum = 0.95 * momentum + grad
        x = (grad + 0.95 * momentum).to(torch.bfloat16).t()
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            a = x @ x.t()
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return weight - 10.0 * max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5 * x.t().float(), momentum


def get_inputs():
    return [torch.randn(rows, columns) for _ in range(3)]


def get_init_inputs():
    return []
