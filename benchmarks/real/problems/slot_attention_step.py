"""Slots compete for positions by a softmax over slots and take weighted means of what they win."""

import torch
import torch.nn as nn

batch = 64
tokens = 1024
width = 64
slots = 8
TINY = {"batch": 2, "tokens": 16, "width": 8, "slots": 3}


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm_x, self.norm_s = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.mix = nn.Linear(2 * width, width)

    def forward(self, x, slots):
        x = self.norm_x(x)
        q = self.q(self.norm_s(slots))
        logits = torch.einsum("bsd,btd->bst", q, self.k(x))
        weights = torch.softmax(logits, dim=1) + 1e-8
        weights = weights / weights.sum(dim=-1, keepdim=True)
        update = torch.einsum("bst,btd->bsd", weights, self.v(x))
        gate = torch.sigmoid(self.mix(torch.cat([slots, update], dim=-1)))
        return gate * slots + (1 - gate) * torch.tanh(update)


def get_inputs():
    return [torch.randn(batch, tokens, width), torch.randn(batch, slots, width)]


def get_init_inputs():
    return [width]
