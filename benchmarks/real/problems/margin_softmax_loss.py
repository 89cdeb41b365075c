"""Cosine logits with an angular margin on the true class, scaled, and their cross-entropy."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 1024
width = 512
classes = 20000
TINY = {"batch": 4, "width": 8, "classes": 10}


class Model(nn.Module):
    def __init__(self, width, classes, margin, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, width))
        self.cos_m, self.sin_m, self.scale = math.cos(margin), math.sin(margin), scale

    def forward(self, x, target):
        cosine = F.normalize(x, dim=-1) @ F.normalize(self.weight, dim=-1).t()
        right = cosine.gather(1, target.unsqueeze(1)).clamp(-1 + 1e-6, 1 - 1e-6)
        moved = right * self.cos_m - torch.sqrt(1 - right * right) * self.sin_m
        logits = self.scale * cosine.scatter(1, target.unsqueeze(1), moved)
        return (torch.logsumexp(logits, dim=1) - self.scale * moved.squeeze(1)).mean()


def get_inputs():
    return [torch.randn(batch, width), torch.randint(0, classes, (batch,))]


def get_init_inputs():
    return [width, classes, 0.5, 32.0]
