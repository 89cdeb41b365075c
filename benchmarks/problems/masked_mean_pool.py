"""Mean over the valid positions of padded sequences."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, hidden, mask):
        mask = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def get_inputs():
    lengths = torch.randint(1, 513, (64,))
    mask = torch.arange(512)[None, :] < lengths[:, None]
    return [torch.randn(64, 512, 768), mask]


def get_init_inputs():
    return []
