"""Colours from linear RGB to a perceptual space: a matrix, a cube root with a linear toe, and differences."""

import torch
import torch.nn as nn

batch = 32
side = 512
TINY = {"batch": 1, "side": 4}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        rows = [[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0178, 0.1095, 0.8728]]
        self.register_buffer("matrix", torch.tensor(rows))

    def forward(self, x):
        xyz = torch.einsum("rc,bchw->brhw", self.matrix, x)
        f = torch.where(xyz > 0.008856, xyz.clamp(min=1e-6) ** (1 / 3), 7.787 * xyz + 16 / 116)
        fx, fy, fz = f.unbind(dim=1)
        return torch.stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)], dim=1)


def get_inputs():
    return [torch.rand(batch, 3, side, side)]


def get_init_inputs():
    return []
