"""Blocks of eight by eight pixels through a cosine transform, rounded by a table, and back."""

import math

import torch
import torch.nn as nn

batch = 16
side = 1024
TINY = {"batch": 1, "side": 16}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        n = torch.arange(8).float()
        basis = torch.cos(math.pi * (2 * n[None, :] + 1) * n[:, None] / 16) * 0.5
        basis[0] *= 2**-0.5
        self.register_buffer("basis", basis)
        self.register_buffer("table", (10 + 4 * (n[:, None] + n[None, :])) / 10000)

    def forward(self, x):
        b, s, _ = x.shape
        parts = x.view(b, s // 8, 8, s // 8, 8).transpose(2, 3) - 0.5
        spectrum = self.basis @ parts @ self.basis.t()
        codes = torch.round(spectrum / self.table)
        back = self.basis.t() @ (codes * self.table) @ self.basis + 0.5
        return back.transpose(2, 3).reshape(b, s, s).clamp(0, 1), codes.abs().sum(dim=(1, 2, 3, 4))


def get_inputs():
    return [torch.rand(batch, side, side)]


def get_init_inputs():
    return []
