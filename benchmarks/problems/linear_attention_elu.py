"""Attention with the feature map elu + 1, summed over positions first."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = torch.einsum("bhnd,bhne->bhde", k, v)
        z = 1.0 / (torch.einsum("bhnd,bhd->bhn", q, k.sum(dim=2)) + 1e-6)
        return torch.einsum("bhnd,bhde,bhn->bhne", q, kv, z)


def get_inputs():
    return [torch.randn(4, 16, 2048, 64) for _ in range(3)]


def get_init_inputs():
    return []
