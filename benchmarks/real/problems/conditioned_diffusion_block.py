"""A transformer block whose two halves are shifted, scaled and gated by a condition, in bf16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
tokens = 256
width = 768
heads = 12
TINY = {"batch": 1, "tokens": 4, "width": 24, "heads": 2}


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.modulation = nn.Linear(width, 6 * width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.to(torch.bfloat16)

    def forward(self, x, condition):
        b, t, c = x.shape
        parts = self.modulation(F.silu(condition)).unsqueeze(1).chunk(6, dim=-1)
        y = F.layer_norm(x, (c,)) * (1 + parts[1]) + parts[0]
        q, k, v = self.qkv(y).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c)
        x = x + parts[2] * self.out(y)
        y = F.layer_norm(x, (c,)) * (1 + parts[4]) + parts[3]
        return x + parts[5] * self.down(F.gelu(self.up(y), approximate="tanh"))


def get_inputs():
    kind = {"dtype": torch.bfloat16}
    return [torch.randn(batch, tokens, width, **kind), torch.randn(batch, width, **kind)]


def get_init_inputs():
    return [width, heads]
