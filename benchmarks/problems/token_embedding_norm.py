"""Token, segment and position embeddings summed and normalised; positions come from the padding mask."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocab, length, width, padding):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width, padding_idx=padding)
        self.segments = nn.Embedding(2, width)
        self.positions = nn.Embedding(length + 2, width)
        self.norm = nn.LayerNorm(width)
        self.padding = padding

    def forward(self, ids, segment):
        mask = ids.ne(self.padding).int()
        position = (torch.cumsum(mask, dim=1).type_as(mask) * mask).long() + self.padding
        return self.norm(self.tokens(ids) + self.segments(segment) + self.positions(position))


def get_inputs():
    return [torch.randint(0, 30000, (32, 512)), torch.randint(0, 2, (32, 512))]


def get_init_inputs():
    return [30000, 512, 512, 1]
