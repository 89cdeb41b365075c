"""The cross-correlation of two normalised embeddings driven to the identity, in half precision products."""

import torch
import torch.nn as nn

batch = 4096
width = 1024
scale = 64
TINY = {"batch": 8, "width": 6}


class Model(nn.Module):
    def forward(self, a, b):
        a, b = ((z - z.mean(dim=0)) / (z.std(dim=0) + 1e-5) for z in (a, b))
        c = (a.half().t() @ (b / scale).half()).float() * scale / a.shape[0]
        diagonal = c.diagonal()
        on = (diagonal - 1).square().sum()
        return on + 0.005 * (c.square().sum() - diagonal.square().sum())


def get_inputs():
    return [torch.randn(batch, width), torch.randn(batch, width)]


def get_init_inputs():
    return []
