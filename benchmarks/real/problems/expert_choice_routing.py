"""Each expert takes the tokens it scores highest, works on them, and adds its results back where they came from."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 4096
width = 512
hidden = 1024
experts = 16
capacity = 512
TINY = {"tokens": 32, "width": 8, "hidden": 12, "experts": 4, "capacity": 8}


class Model(nn.Module):
    def __init__(self, width, hidden, experts, capacity):
        super().__init__()
        self.capacity = capacity
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) * hidden**-0.5)

    def forward(self, x):
        scores = torch.softmax(self.router(x), dim=-1)
        weight, index = torch.topk(scores.t(), self.capacity, dim=-1)
        taken = x[index]
        y = torch.bmm(F.silu(torch.bmm(taken, self.up)), self.down) * weight.unsqueeze(-1)
        return torch.zeros_like(x).index_add(0, index.reshape(-1), y.reshape(-1, x.shape[-1]))


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width, hidden, experts, capacity]
