"""Rows rounded to a symmetric 8-bit grid and back."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-8) / 127.0
        return torch.round(x / scale).clamp(-127, 127) * scale


def get_inputs():
    return [torch.randn(8192, 4096)]


def get_init_inputs():
    return []
