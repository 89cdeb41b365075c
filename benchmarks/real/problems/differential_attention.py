"""The difference of two softmax maps weighs the values; heads are normalised before they are joined."""

import torch
import torch.nn as nn

batch = 2
tokens = 1024
width = 1024
heads = 8
TINY = {"batch": 1, "tokens": 16, "width": 32, "heads": 2}


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.hd = heads, width // heads // 2
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.weight = nn.Parameter(torch.full((heads, 1, 1), 0.3))
        self.gain = nn.Parameter(torch.ones(2 * self.hd))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, 2 * self.heads, self.hd).transpose(1, 2)
        k = k.view(b, t, 2 * self.heads, self.hd).transpose(1, 2)
        v = v.view(b, t, self.heads, 2 * self.hd).transpose(1, 2)
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(-1, -2) * self.hd**-0.5).masked_fill(hidden, float("-inf"))
        maps = torch.softmax(scores, dim=-1).view(b, self.heads, 2, t, t)
        y = (maps[:, :, 0] - self.weight * maps[:, :, 1]) @ v
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5) * self.gain
        return self.out(y.transpose(1, 2).reshape(b, t, c))


def get_inputs():
    return [torch.randn(batch, tokens, width)]


def get_init_inputs():
    return [width, heads]
