"""A few learned latents read a long input by cross-attention and are refined by an MLP."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
tokens = 4096
width = 512
latents = 128
heads = 8
TINY = {"batch": 1, "tokens": 64, "width": 32, "latents": 8, "heads": 2}


class Model(nn.Module):
    def __init__(self, width, latents, heads):
        super().__init__()
        self.heads = heads
        self.latents = nn.Parameter(0.02 * torch.randn(latents, width))
        self.norm_q, self.norm_kv, self.norm = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.half()

    def forward(self, x):
        b, t, c = x.shape
        z = self.latents.expand(b, -1, -1)
        q = self.q(self.norm_q(z)).view(b, -1, self.heads, c // self.heads).transpose(1, 2)
        k, v = self.kv(self.norm_kv(x)).view(b, t, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        z = z + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, -1, c)
        return z + self.down(F.gelu(self.up(self.norm(z))))


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.float16)]


def get_init_inputs():
    return [width, latents, heads]
