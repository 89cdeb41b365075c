"""Many query heads over one key head with rotary positions, in bf16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 1
tokens = 2048
width = 2048
heads = 16
TINY = {"tokens": 16, "width": 64, "heads": 4}


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.hd = heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * self.hd, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.to(torch.bfloat16)
        frequency = 10000.0 ** (-torch.arange(0, self.hd, 2).float() / self.hd)
        self.register_buffer("frequency", frequency)

    def rotated(self, x, cos, sin):
        one, two = x.float().chunk(2, dim=-1)
        return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1).to(x.dtype)

    def forward(self, x):
        b, t, c = x.shape
        angle = torch.arange(t, device=x.device)[:, None] * self.frequency
        cos, sin = angle.cos(), angle.sin()
        q = self.rotated(self.q(x).view(b, t, self.heads, self.hd).transpose(1, 2), cos, sin)
        k, v = self.kv(x).unsqueeze(1).chunk(2, dim=-1)
        k = self.rotated(k, cos, sin).expand(-1, self.heads, -1, -1)
        y = F.scaled_dot_product_attention(q, k, v.expand(-1, self.heads, -1, -1), is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, heads]
