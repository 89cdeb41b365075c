"""A reference that overwrites its input: there is nothing left to compare a second run with."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        x.mul_(2.0).add_(1.0)
        return x.sigmoid()


def get_inputs():
    return [torch.randn(4096, 4096)]


def get_init_inputs():
    return []
