"""A whole decoder layer: normalisation, rotary grouped attention, and a SwiGLU network, in bf16."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
tokens = 1024
width = 2048
heads = 16
groups = 4
hidden = 5632
TINY = {"batch": 1, "tokens": 6, "width": 32, "heads": 4, "groups": 2, "hidden": 24}


class Model(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.hd = heads, groups, width // heads
        self.first, self.second = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.hd, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.to(torch.bfloat16)
        self.register_buffer("frequency", 10000.0 ** (-torch.arange(0, self.hd, 2).float() / self.hd))

    def norm(self, x, gain):
        y = x.float()
        return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * gain

    def rotated(self, x, cos, sin):
        one, two = x.float().chunk(2, dim=-1)
        return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1).to(x.dtype)

    def forward(self, x):
        b, t, c = x.shape
        angle = torch.arange(t, device=x.device)[:, None] * self.frequency
        cos, sin = angle.cos(), angle.sin()
        qkv = self.qkv(self.norm(x, self.first)).view(b, t, -1, self.hd).transpose(1, 2)
        q, k, v = qkv.split((self.heads, self.groups, self.groups), dim=1)
        q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
        repeat = self.heads // self.groups
        k, v = k.repeat_interleave(repeat, dim=1), v.repeat_interleave(repeat, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(y)
        gate, up = self.gate_up(self.norm(x, self.second)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def get_inputs():
    return [torch.randn(batch, tokens, width, dtype=torch.bfloat16)]


def get_init_inputs():
    return [width, heads, groups, hidden]
