"""Attention approximated by positive random features: two thin products and a normaliser."""

import torch
import torch.nn as nn

batch = 4
heads = 8
tokens = 4096
width = 64
features = 128
TINY = {"batch": 1, "heads": 2, "tokens": 32, "width": 8, "features": 12}


class Model(nn.Module):
    def __init__(self, width, features):
        super().__init__()
        self.register_buffer("projection", torch.randn(width, features))

    def features(self, x, whole):
        x = x * x.shape[-1] ** -0.25
        logits = x @ self.projection - 0.5 * x.square().sum(-1, keepdim=True)
        largest = logits.amax(dim=(-1, -2) if whole else -1, keepdim=True)
        return torch.exp(logits - largest) + 1e-4

    def forward(self, q, k, v):
        q, k = self.features(q, False), self.features(k, True)
        context = k.transpose(-1, -2) @ v
        return (q @ context) / (q @ k.sum(dim=2).unsqueeze(-1))


def get_inputs():
    return [torch.randn(batch, heads, tokens, width) for _ in range(3)]


def get_init_inputs():
    return [width, features]
