"""Tokens by channels to channels by tokens, with a scale and a shift per channel, stored in half the width."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(channels) + 0.5)
        self.shift = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return (x * self.scale + self.shift).transpose(1, 2).contiguous().to(torch.bfloat16)


batch = 16
tokens = 4096
channels = 1024


def get_inputs():
    return [torch.randn(batch, tokens, channels)]


def get_init_inputs():
    return [channels]
