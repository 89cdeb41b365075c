"""Attention with a bias looked up by bucketed relative position."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, heads, buckets, length):
        super().__init__()
        self.bias = nn.Embedding(buckets, heads)
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        self.register_buffer("bucket", distance.clamp(-(buckets // 2), buckets // 2 - 1) + buckets // 2)

    def forward(self, q, k, v):
        bias = self.bias(self.bucket).permute(2, 0, 1).unsqueeze(0)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)


def get_inputs():
    return [torch.randn(4, 8, 512, 64) * 0.3 for _ in range(3)]


def get_init_inputs():
    return [8, 32, 512]
