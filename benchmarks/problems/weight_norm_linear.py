"""A linear layer under weight normalisation (a parametrisation with entries of its own in the state dict)."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc = torch.nn.utils.parametrizations.weight_norm(nn.Linear(n_in, n_out))

    def forward(self, x):
        return F.leaky_relu(self.fc(x), 0.02)


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return [1024, 1024]
