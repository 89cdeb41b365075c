"""Chosen positions gathered, transformed, normalised and scored against a vocabulary with a bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
tokens = 512
masked = 76
width = 768
vocabulary = 16384
TINY = {"batch": 2, "tokens": 8, "masked": 3, "width": 8, "vocabulary": 12}


class Model(nn.Module):
    def __init__(self, width, vocabulary):
        super().__init__()
        self.dense, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.table = nn.Parameter(0.05 * torch.randn(vocabulary, width))
        self.bias = nn.Parameter(torch.randn(vocabulary))
        self.half()

    def forward(self, x, places, target):
        taken = x.gather(1, places.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        logits = self.norm(F.gelu(self.dense(taken))) @ self.table.t() + self.bias
        return F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), reduction="none")


def get_inputs():
    places, target = torch.randint(0, tokens, (batch, masked)), torch.randint(0, vocabulary, (batch, masked))
    return [torch.randn(batch, tokens, width, dtype=torch.float16), places, target]


def get_init_inputs():
    return [width, vocabulary]
