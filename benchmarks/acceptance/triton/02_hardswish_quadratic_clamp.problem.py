import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Half precision activation chain: hardswish, a quadratic term, clamp.
    """

    def __init__(self, lo, hi):
        super().__init__()
        self.lo = lo
        self.hi = hi

    def forward(self, x):
        h = F.hardswish(x)
        y = h * h - 0.5 * x
        return torch.clamp(y, self.lo, self.hi)


N = 64
C = 256
H = 56
W = 56
lo = -2.0
hi = 6.0


def get_inputs():
    return [torch.randn(N, C, H, W).half()]


def get_init_inputs():
    return [lo, hi]
