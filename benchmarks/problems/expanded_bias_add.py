"""Non-contiguous inputs: a transposed activation, every second column of a matrix, and an expanded bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y, bias):
        return torch.relu(x + bias) * y


def get_inputs():
    x = torch.randn(16, 512, 1024).transpose(1, 2)
    y = torch.randn(16, 1024, 1024)[:, :, ::2]
    bias = torch.randn(1, 1, 512).expand(16, 1024, 512)
    return [x, y, bias]


def get_init_inputs():
    return []
