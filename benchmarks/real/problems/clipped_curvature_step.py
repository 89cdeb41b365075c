"""A step by momentum over estimated curvature, clipped per element, after the gradient's norm is limited."""

import torch
import torch.nn as nn

count = 16384
chunk = 2048
TINY = {"count": 4, "chunk": 8}


class Model(nn.Module):
    def forward(self, weight, grad, momentum, curvature):
        limit = 0.5 * grad.numel() ** 0.5
        grad = grad * (limit / (grad.norm() + 1e-6)).clamp(max=1.0)
        momentum = 0.8 * momentum + 0.2 * grad
        ratio = momentum / (2.0 * curvature).clamp(min=1e-3)
        return weight * 0.99 - 0.5 * ratio.clamp(-1.0, 1.0), momentum


def get_inputs():
    data = [torch.randn(count, chunk) for _ in range(3)]
    return [*data, torch.rand(count, chunk)]


def get_init_inputs():
    return []
