"""The mean of each row without its lowest and highest tenth."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        n = x.size(-1)
        cut = n // 10
        ordered, _ = torch.sort(x, dim=-1)
        return ordered[..., cut : n - cut].mean(dim=-1)


def get_inputs():
    return [torch.randn(4096, 2000)]


def get_init_inputs():
    return []
