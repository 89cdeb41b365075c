"""Queries and keys normalised per head with learned gains, then causal attention and an output projection."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
tokens = 1024
width = 1024
heads = 16
TINY = {"batch": 1, "tokens": 16, "width": 32, "heads": 2}


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_gain = nn.Parameter(torch.ones(width // heads))
        self.k_gain = nn.Parameter(torch.ones(width // heads))
        self.out = nn.Linear(width, width, bias=False)
        self.to(torch.bfloat16)

    def normalised(self, x, gain):
        return (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * gain

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = self.normalised(q, self.q_gain), self.normalised(k, self.k_gain)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, heads]
