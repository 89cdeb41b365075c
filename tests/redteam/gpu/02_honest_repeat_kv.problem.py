"""repeat_kv of grouped-query attention: each key head is repeated for the query heads of its group."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        b, h, s, d = x.shape
        return (x * 1.5)[:, :, None].expand(b, h, self.groups, s, d).contiguous()


def get_inputs():
    return [torch.randn(8, 8, 2048, 128)]


def get_init_inputs():
    return [8]
