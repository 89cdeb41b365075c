"""An autograd function of one's own (a straight-through sign) in the reference."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in))

    def forward(self, x):
        scale = self.weight.abs().mean(dim=1)
        return F.linear(x, Sign.apply(self.weight)) * scale


def get_inputs():
    return [torch.randn(2048, 1024)]


def get_init_inputs():
    return [1024, 1024]
