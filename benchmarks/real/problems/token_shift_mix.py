"""Tokens mixed with their predecessors, a squared-ReLU network on the mixture and a sigmoid gate, in bf16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
tokens = 1024
width = 1024
hidden = 3584
TINY = {"batch": 2, "tokens": 5, "width": 8, "hidden": 12}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.mix_k, self.mix_r = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))
        self.key, self.value = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.gate = nn.Linear(width, width, bias=False)
        self.to(torch.bfloat16)

    def forward(self, x):
        before = F.pad(x, (0, 0, 1, 0))[:, :-1]
        k = x * self.mix_k + before * (1 - self.mix_k)
        r = x * self.mix_r + before * (1 - self.mix_r)
        return torch.sigmoid(self.gate(r)) * self.value(F.relu(self.key(k)).square())


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, hidden]
