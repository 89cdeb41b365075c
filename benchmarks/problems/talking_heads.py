"""Scores mixed across heads before and after the softmax."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.before = nn.Parameter(torch.eye(heads) + 0.1 * torch.randn(heads, heads))
        self.after = nn.Parameter(torch.eye(heads) + 0.1 * torch.randn(heads, heads))

    def forward(self, q, k, v):
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
        scores = torch.einsum("bhij,hg->bgij", scores, self.before).softmax(dim=-1)
        scores = torch.einsum("bhij,hg->bgij", scores, self.after)
        return torch.einsum("bhij,bhjd->bhid", scores, v)


def get_inputs():
    return [torch.randn(2, 8, 512, 64) for _ in range(3)]


def get_init_inputs():
    return [8]
