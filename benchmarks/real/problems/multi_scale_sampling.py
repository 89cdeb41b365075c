"""Features of two scales sampled bilinearly at learned offsets around each query and mixed by softmax weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
queries = 2048
heads = 8
width = 32
points = 4
side = 64
TINY = {"batch": 1, "queries": 6, "heads": 2, "width": 4, "points": 2, "side": 8}


class Model(nn.Module):
    def forward(self, fine, coarse, places, offsets, logits):
        b, h, q, s, p, _ = offsets.shape
        weights = torch.softmax(logits.flatten(-2), dim=-1)
        sampled = []
        for scale, maps in enumerate((fine, coarse)):
            grid = (places.unsqueeze(1).unsqueeze(3) + offsets[:, :, :, scale]).view(b * h, q, p, 2)
            sampled.append(F.grid_sample(maps.flatten(0, 1), grid, align_corners=False))
        values = torch.cat(sampled, dim=-1).view(b, h, -1, q, s * p)
        return (values * weights.unsqueeze(2)).sum(-1).flatten(1, 2).transpose(1, 2)


def get_inputs():
    return [
        torch.randn(batch, heads, width, side, side),
        torch.randn(batch, heads, width, side // 2, side // 2),
        2 * torch.rand(batch, queries, 2) - 1,
        0.1 * torch.randn(batch, heads, queries, 2, points, 2),
        torch.randn(batch, heads, queries, 2, points),
    ]


def get_init_inputs():
    return []
