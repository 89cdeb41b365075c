"""Attention over the edges of a graph: scores per edge, a softmax over the edges of each target, a weighted sum."""

import torch
import torch.nn as nn
import torch.nn.functional as F

nodes = 32768
edges = 524288
heads = 4
width = 32
TINY = {"nodes": 6, "edges": 16, "heads": 2, "width": 4}


class Model(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.proj = nn.Linear(heads * width, heads * width, bias=False)
        self.source, self.target = (nn.Parameter(0.2 * torch.randn(heads, width)) for _ in range(2))

    def forward(self, x, source, target):
        n = x.shape[0]
        h = self.proj(x).view(n, self.heads, -1)
        score = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
        weight = torch.exp(F.leaky_relu(score, 0.2))
        total = torch.zeros(n, self.heads, device=x.device).index_add(0, target, weight)
        share = weight / total[target].clamp(min=1e-9)
        out = torch.zeros_like(h).index_add(0, target, share.unsqueeze(-1) * h[source])
        return F.elu(out.flatten(1))


def get_inputs():
    ends = [torch.randint(0, nodes, (edges,)) for _ in range(2)]
    return [torch.randn(nodes, heads * width), *ends]


def get_init_inputs():
    return [heads, width]
