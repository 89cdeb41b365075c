"""A residual block under autocast: float32 weights, half-precision products."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
            y = self.down(F.mish(self.up(x)))
        return x + y.float()


def get_inputs():
    return [torch.randn(4096, 512)]


def get_init_inputs():
    return [512]
