"""Attention that is bidirectional over a prefix of each sequence and causal after it."""

import torch
import torch.nn as nn

batch = 4
heads = 12
tokens = 768
width = 64
TINY = {"batch": 2, "heads": 2, "tokens": 24, "width": 8}


class Model(nn.Module):
    def forward(self, q, k, v, prefix):
        t = q.shape[2]
        place = torch.arange(t, device=q.device)
        seen = (place[None, :] <= place[:, None]) | (place[None, None, :] < prefix[:, None, None])
        scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(~seen[:, None], torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1) @ v


def get_inputs():
    data = [torch.randn(batch, heads, tokens, width, dtype=torch.bfloat16) for _ in range(3)]
    return [*data, torch.randint(1, tokens // 2, (batch,))]


def get_init_inputs():
    return []
