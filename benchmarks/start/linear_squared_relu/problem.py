"""A linear layer with a squared ReLU and a scale per output feature (the first half of a Primer-style MLP)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out).to(torch.bfloat16)
        self.scale = nn.Parameter((torch.rand(features_out) + 0.5).to(torch.bfloat16))

    def forward(self, x):
        return torch.relu(self.linear(x)).square() * self.scale


tokens = 8192
features_in = 4096
features_out = 8192


def get_inputs():
    return [torch.randn(tokens, features_in, dtype=torch.bfloat16)]


def get_init_inputs():
    return [features_in, features_out]
