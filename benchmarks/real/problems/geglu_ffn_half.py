"""A pre-normalised feed-forward layer gated by GELU, in half precision with a float32 residual."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 8192
width = 1024
hidden = 2816
TINY = {"tokens": 8, "width": 16, "hidden": 24}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.gate = nn.Linear(width, hidden, bias=False, dtype=torch.float16)
        self.up = nn.Linear(width, hidden, bias=False, dtype=torch.float16)
        self.down = nn.Linear(hidden, width, bias=False, dtype=torch.float16)

    def forward(self, x):
        y = (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.gain).half()
        return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y)).float()


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width, hidden]
