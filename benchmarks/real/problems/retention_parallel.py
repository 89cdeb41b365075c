"""Retention in its parallel form: decayed causal products without a softmax, normalised per head and gated."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
tokens = 1024
width = 1024
heads = 8
TINY = {"batch": 1, "tokens": 16, "width": 32, "heads": 2}


class Model(nn.Module):
    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads = heads
        self.qkvg = nn.Linear(width, 4 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        decay = 1 - 2.0 ** (-5 - torch.arange(heads).float())
        gap = (torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :]).float()
        mask = torch.where(gap >= 0, decay[:, None, None] ** gap.clamp(min=0), torch.zeros(()))
        self.register_buffer("mask", mask / mask.sum(-1, keepdim=True).sqrt())
        self.to(torch.bfloat16)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v, g = self.qkvg(x).view(b, t, 4, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = ((q @ k.transpose(-1, -2)) * (c // self.heads) ** -0.5 * self.mask) @ v
        y = F.layer_norm(y.float(), (y.shape[-1],)).to(x.dtype) * F.silu(g)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, heads, tokens]
