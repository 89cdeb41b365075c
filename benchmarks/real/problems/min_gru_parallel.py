"""A minimal gated recurrence computed at once in log space by cumulative log-sum-exp."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
tokens = 1024
width = 256
hidden = 512
TINY = {"batch": 2, "tokens": 16, "width": 8, "hidden": 12}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.proj = nn.Linear(width, 2 * hidden)
        self.out = nn.Linear(hidden, width)

    def forward(self, x):
        candidate, gate = self.proj(x).chunk(2, dim=-1)
        log_keep = -F.softplus(gate)
        log_take = -F.softplus(-gate)
        log_candidate = torch.where(candidate >= 0, torch.log(F.relu(candidate) + 0.5), -F.softplus(-candidate))
        total = log_keep.cumsum(dim=1)
        log_h = total + torch.logcumsumexp(log_take + log_candidate - total, dim=1)
        return self.out(torch.exp(log_h))


def get_inputs():
    return [torch.randn(batch, tokens, width)]


def get_init_inputs():
    return [width, hidden]
