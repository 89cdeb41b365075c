"""A filter in the frequency domain with real learned gains."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(length // 2 + 1))

    def forward(self, x):
        spectrum = torch.fft.rfft(x, dim=-1)
        return torch.fft.irfft(spectrum * self.gain, n=x.shape[-1], dim=-1)


def get_inputs():
    return [torch.randn(2048, 4096)]


def get_init_inputs():
    return [4096]
