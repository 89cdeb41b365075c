"""A step by momentum over estimated curvature, clipped per element, after the gradient's norm is limited."""

import torch
import torch.nn as nn

count = 16384
chunk = 2048
TINY = {"count": 4, "chunk": 8}


class Model(nn.Module):
    def forward(self, weight, grad, momentum, curvature):
        grad = grad * (1.0 / (grad.norm() + 1e-6)).clamp(max=1.0)
        momentum = 0.965 * momentum + 0.035 * grad
        ratio = momentum / (0.05 * curvature).clamp(min=1e-12)
        return weight * (1 - 1e-4) - 1e-3 * ratio.clamp(-1.0, 1.0), momentum


def get_inputs():
    data = [torch.randn(count, chunk) for _ in range(3)]
    return [*data, torch.rand(count, chunk)]


def get_init_inputs():
    return []
