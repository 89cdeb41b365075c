"""Rotary embedding through complex multiplication, as several public models write it."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, length, width, theta=10000.0):
        super().__init__()
        freqs = 1.0 / (theta ** (torch.arange(0, width, 2)[: (width // 2)].float() / width))
        t = torch.arange(length)
        freqs = torch.outer(t, freqs)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(freqs), freqs), persistent=False)

    def forward(self, xq):
        xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
        freqs = self.freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])
        return torch.view_as_real(xq_ * freqs).flatten(3).type_as(xq)


def get_inputs():
    return [torch.randn(4, 2048, 16, 128, dtype=torch.float16)]


def get_init_inputs():
    return [2048, 128]
