"""Keys and values from a shared low-rank latent, with query normalisation."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, heads, rank):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=False)
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, 2 * width, bias=False)
        self.qnorm = nn.RMSNorm(width // heads)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.qnorm(self.q(x).view(b, n, self.heads, -1)).transpose(1, 2)
        k, v = self.up(self.down(x)).chunk(2, dim=-1)
        k = k.view(b, n, self.heads, -1).transpose(1, 2)
        v = v.view(b, n, self.heads, -1).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def get_inputs():
    return [torch.randn(4, 1024, 512)]


def get_init_inputs():
    return [512, 8, 128]
