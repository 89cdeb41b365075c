"""Token embedding and output projection that share one weight."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.norm(self.embed(tokens)))


def get_inputs():
    return [torch.randint(0, 8000, (4, 512))]


def get_init_inputs():
    return [8000, 512]
