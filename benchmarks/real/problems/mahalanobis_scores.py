"""Class scores by distance to each mean under that class's own low-rank precision."""

import torch
import torch.nn as nn
import torch.nn.functional as F

samples = 4096
width = 256
classes = 32
rank = 32
TINY = {"samples": 4, "width": 6, "classes": 3, "rank": 2}


class Model(nn.Module):
    def __init__(self, width, classes, rank):
        super().__init__()
        self.means = nn.Parameter(torch.randn(classes, width))
        self.factors = nn.Parameter(torch.randn(classes, width, rank) * width**-0.5)
        self.log_prior = nn.Parameter(torch.randn(classes))

    def forward(self, x):
        projected = torch.einsum("nd,kdr->nkr", x, self.factors)
        centre = torch.einsum("kd,kdr->kr", self.means, self.factors)
        distance = (projected - centre).square().sum(-1)
        return F.log_softmax(self.log_prior - 0.5 * distance, dim=-1)


def get_inputs():
    return [torch.randn(samples, width)]


def get_init_inputs():
    return [width, classes, rank]
