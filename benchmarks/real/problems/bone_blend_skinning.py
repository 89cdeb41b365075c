"""Vertices moved by a weighted blend of the transforms of bones, made from quaternions and translations."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
vertices = 16384
bones = 64
TINY = {"batch": 2, "vertices": 5, "bones": 3}


class Model(nn.Module):
    def forward(self, vertices, weights, quaternions, translations):
        w, x, y, z = F.normalize(quaternions, dim=-1).unbind(-1)
        rows = [
            1 - 2 * (y * y + z * z),
            2 * (x * y - w * z),
            2 * (x * z + w * y),
            2 * (x * y + w * z),
            1 - 2 * (x * x + z * z),
            2 * (y * z - w * x),
            2 * (x * z - w * y),
            2 * (y * z + w * x),
            1 - 2 * (x * x + y * y),
        ]
        turn = torch.stack(rows, dim=-1).unflatten(-1, (3, 3))
        share = torch.softmax(weights, dim=-1)
        blend = torch.einsum("vk,bkij->bvij", share, turn)
        return (blend @ vertices.unsqueeze(-1)).squeeze(-1) + share @ translations


def get_inputs():
    return [
        torch.randn(batch, vertices, 3),
        3 * torch.randn(vertices, bones),
        torch.randn(batch, bones, 4),
        torch.randn(batch, bones, 3),
    ]


def get_init_inputs():
    return []
