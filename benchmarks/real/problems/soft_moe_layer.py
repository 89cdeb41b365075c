"""Slots are mixtures of all tokens, experts work on their slots, and tokens are mixtures of all slots."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
tokens = 512
width = 512
hidden = 1024
experts = 16
slots = 32
TINY = {"batch": 1, "tokens": 16, "width": 8, "hidden": 12, "experts": 2, "slots": 3}


class Model(nn.Module):
    def __init__(self, width, hidden, experts, slots):
        super().__init__()
        self.keys = nn.Parameter(torch.randn(width, experts, slots) * width**-0.5)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) * hidden**-0.5)

    def forward(self, x):
        b, _, c = x.shape
        logits = 100 * torch.einsum("btc,ces->btes", F.normalize(x, dim=-1), self.keys)
        dispatch = torch.softmax(logits, dim=1)
        combine = torch.softmax(logits.flatten(2), dim=-1)
        inside = torch.einsum("btc,btes->besc", x, dispatch)
        y = torch.einsum("besh,ehc->besc", F.gelu(torch.einsum("besc,ech->besh", inside, self.up)), self.down)
        return combine @ y.reshape(b, -1, c)


def get_inputs():
    return [torch.randn(batch, tokens, width)]


def get_init_inputs():
    return [width, hidden, experts, slots]
