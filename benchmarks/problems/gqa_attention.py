"""Grouped-query attention: fewer key heads than query heads, causal, bf16."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.hd = heads, kv_heads, width // heads
        self.wq = nn.Linear(width, heads * self.hd, bias=False, dtype=torch.bfloat16)
        self.wkv = nn.Linear(width, 2 * kv_heads * self.hd, bias=False, dtype=torch.bfloat16)
        self.wo = nn.Linear(heads * self.hd, width, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        b, t, c = x.shape
        q = self.wq(x).view(b, t, self.heads, self.hd).transpose(1, 2)
        k, v = self.wkv(x).view(b, t, 2, self.kv_heads, self.hd).unbind(2)
        repeat = self.heads // self.kv_heads
        k = k.transpose(1, 2).repeat_interleave(repeat, dim=1)
        v = v.transpose(1, 2).repeat_interleave(repeat, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.randn(2, 1024, 1024, dtype=torch.bfloat16)]


def get_init_inputs():
    return [1024, 16, 4]
