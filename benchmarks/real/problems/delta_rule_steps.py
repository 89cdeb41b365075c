"""A fast-weight memory corrected by the delta rule for a few steps and read by queries."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
heads = 16
tokens = 24
width = 64
TINY = {"batch": 1, "heads": 2, "tokens": 4, "width": 8}


class Model(nn.Module):
    def forward(self, q, k, v, beta, state):
        k = F.normalize(k, dim=-1)
        strength = torch.sigmoid(beta)
        outputs = []
        for t in range(q.shape[2]):
            kt = k[:, :, t].unsqueeze(-1)
            error = v[:, :, t].unsqueeze(-1) - state @ kt
            state = state + strength[:, :, t, None, None] * (error @ kt.transpose(-1, -2))
            outputs.append((state @ q[:, :, t].unsqueeze(-1)).squeeze(-1))
        return torch.stack(outputs, dim=2), state


def get_inputs():
    data = [torch.randn(batch, heads, tokens, width) for _ in range(3)]
    return [*data, torch.randn(batch, heads, tokens), torch.randn(batch, heads, width, width)]


def get_init_inputs():
    return []
