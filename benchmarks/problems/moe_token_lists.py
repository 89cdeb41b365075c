"""A mixture of experts that gathers the tokens of each expert with nonzero: shapes depend on data."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        choice = self.router(x).argmax(dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            tokens = torch.nonzero(choice == i).squeeze(-1)
            out[tokens] = expert(x[tokens])
        return out


def get_inputs():
    return [torch.randn(4096, 256)]


def get_init_inputs():
    return [256, 4]
