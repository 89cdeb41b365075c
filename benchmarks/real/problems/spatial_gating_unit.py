"""Half of the channels, normalised and mixed over positions, gate the other half."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
tokens = 256
width = 256
hidden = 1024
TINY = {"batch": 2, "tokens": 8, "width": 8, "hidden": 16}


class Model(nn.Module):
    def __init__(self, tokens, width, hidden):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.LayerNorm(hidden // 2)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden // 2, width)
        self.mix = nn.Conv1d(tokens, tokens, 1)
        self.half()

    def forward(self, x):
        u, v = F.gelu(self.up(self.norm(x))).chunk(2, dim=-1)
        return x + self.down(u * (self.mix(self.inner(v)) + 1.0))


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.float16)]


def get_init_inputs():
    return [tokens, width, hidden]
