"""A pre-norm transformer layer of submodules; the first init argument is a dictionary of settings."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config["heads"]
        self.qkv = nn.Linear(config["width"], 3 * config["width"])
        self.out = nn.Linear(config["width"], config["width"])

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["width"]
        self.n1, self.n2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(config)
        self.mlp = nn.Sequential(nn.Linear(width, 3 * width), nn.Hardswish(), nn.Linear(3 * width, width))
        self.scale = nn.ParameterDict({"a": nn.Parameter(torch.rand(width)), "m": nn.Parameter(torch.rand(width))})

    def forward(self, x):
        x = x + self.scale["a"] * self.attention(self.n1(x))
        return x + self.scale["m"] * self.mlp(self.n2(x))


def get_inputs():
    return [torch.randn(4, 512, 512)]


def get_init_inputs():
    return [{"width": 512, "heads": 8}]
