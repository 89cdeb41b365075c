"""Logits of tokens that were generated before are made less likely, by presence and by count, then normalised."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 256
vocabulary = 50257
history = 512
TINY = {"batch": 2, "vocabulary": 12, "history": 6}


class Model(nn.Module):
    def __init__(self, penalty, presence, frequency):
        super().__init__()
        self.penalty, self.presence, self.frequency = penalty, presence, frequency

    def forward(self, logits, tokens):
        ones = torch.ones_like(tokens, dtype=logits.dtype)
        count = torch.zeros_like(logits).scatter_add(1, tokens, ones)
        seen = count > 0
        changed = torch.where(logits > 0, logits / self.penalty, logits * self.penalty)
        x = torch.where(seen, changed, logits) - self.presence * seen.to(logits.dtype) - self.frequency * count
        return F.log_softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(batch, vocabulary), torch.randint(0, vocabulary, (batch, history))]


def get_init_inputs():
    return [1.2, 0.3, 0.1]
