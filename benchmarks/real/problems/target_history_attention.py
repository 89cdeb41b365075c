"""A history of items weighed by a small network that sees item, target, their difference and product."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 1024
history = 100
width = 32
TINY = {"batch": 2, "history": 4, "width": 3}


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4 * width, 64), nn.Linear(64, 16), nn.Linear(16, 1)
        self.slope = nn.Parameter(torch.tensor(0.25))

    def forward(self, target, items, lengths):
        t = target.unsqueeze(1).expand_as(items)
        h = torch.cat([items, t, items - t, items * t], dim=-1)
        h = F.prelu(self.first(h), self.slope)
        weight = self.third(torch.sigmoid(self.second(h))).squeeze(-1)
        mask = torch.arange(items.shape[1], device=items.device)[None, :] < lengths[:, None]
        return (weight.masked_fill(~mask, 0).unsqueeze(-1) * items).sum(dim=1)


def get_inputs():
    lengths = torch.randint(1, history + 1, (batch,))
    return [torch.randn(batch, width), torch.randn(batch, history, width), lengths]


def get_init_inputs():
    return [width]
