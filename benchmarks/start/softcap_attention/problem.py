"""Causal attention whose scores are capped softly by a hyperbolic tangent."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, cap):
        super().__init__()
        self.cap = cap

    def forward(self, q, k, v):
        length = q.shape[-2]
        scores = torch.matmul(q, k.transpose(-2, -1)).float() * q.shape[-1] ** -0.5
        scores = self.cap * torch.tanh(scores / self.cap)
        hidden = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        return torch.matmul(weights.to(v.dtype), v)


batch = 2
heads = 16
length = 4096
width = 128


def get_inputs():
    return [torch.randn(batch, heads, length, width, dtype=torch.bfloat16) for _ in range(3)]


def get_init_inputs():
    return [30.0]
