"""One AdamW step on lists of tensors: nested inputs, nested outputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.decay = lr, beta1, beta2, eps, decay

    def forward(self, params, grads, moments):
        new, first, second = [], [], []
        for p, g, (m, v) in zip(params, grads, moments, strict=True):
            m = self.beta1 * m + (1 - self.beta1) * g
            v = self.beta2 * v + (1 - self.beta2) * g * g
            new.append(p * (1 - self.lr * self.decay) - self.lr * m / (v.sqrt() + self.eps))
            first.append(m)
            second.append(v)
        return new, first, second


shapes = [(1024, 1024), (4096, 1024), (1024,), (50, 77)]


def get_inputs():
    params = [torch.randn(s) for s in shapes]
    grads = [torch.randn(s) * 0.1 for s in shapes]
    moments = [(torch.randn(s) * 0.1, torch.rand(s)) for s in shapes]
    return [params, grads, moments]


def get_init_inputs():
    return [1e-3, 0.9, 0.999, 1e-8, 0.01]
