"""Attention and a gated MLP side by side on one normalisation, from one fused projection, in half precision."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
tokens = 512
width = 1024
heads = 16
TINY = {"batch": 1, "tokens": 6, "width": 16, "heads": 2}


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.split = heads, (3 * width, 4 * width, 4 * width)
        self.norm = nn.LayerNorm(width, bias=False)
        self.first = nn.Linear(width, 11 * width, bias=False)
        self.out, self.down = nn.Linear(width, width, bias=False), nn.Linear(4 * width, width, bias=False)
        self.half()

    def forward(self, x):
        b, t, c = x.shape
        qkv, gate, up = self.first(self.norm(x)).split(self.split, dim=-1)
        q, k, v = qkv.view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        return x + self.out(y) + self.down(F.silu(gate) * up)


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.float16)]


def get_init_inputs():
    return [width, heads]
