"""One decoding step: the new key and value are written into a cache buffer, then attended to."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, batch, heads, length, width):
        super().__init__()
        self.register_buffer("k_cache", torch.randn(batch, heads, length, width))
        self.register_buffer("v_cache", torch.randn(batch, heads, length, width))
        self.position = length - 1

    def forward(self, q, k, v):
        self.k_cache[:, :, self.position] = k
        self.v_cache[:, :, self.position] = v
        return F.scaled_dot_product_attention(q.unsqueeze(2), self.k_cache, self.v_cache).squeeze(2)


def get_inputs():
    return [torch.randn(16, 16, 64) for _ in range(3)]


def get_init_inputs():
    return [16, 16, 1024, 64]
