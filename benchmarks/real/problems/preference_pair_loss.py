"""A preference loss of chosen and rejected sequences from token logits of a policy and stored reference scores."""

import torch
import torch.nn as nn
import torch.nn.functional as F

pairs = 4
length = 256
vocabulary = 8192
TINY = {"pairs": 2, "length": 6, "vocabulary": 12}


class Model(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def scores(self, logits, tokens, mask):
        taken = logits.gather(2, tokens.unsqueeze(2)).squeeze(2)
        return ((taken - torch.logsumexp(logits, dim=2)) * mask).sum(dim=1)

    def forward(self, chosen, rejected, chosen_ids, rejected_ids, mask, reference):
        margin = self.scores(chosen, chosen_ids, mask) - self.scores(rejected, rejected_ids, mask)
        return -F.logsigmoid(self.beta * (margin - reference)).mean(), margin


def get_inputs():
    ids = [torch.randint(0, vocabulary, (pairs, length)) for _ in range(2)]
    mask = (torch.rand(pairs, length) > 0.1).float()
    logits = [torch.randn(pairs, length, vocabulary) for _ in range(2)]
    return [*logits, *ids, mask, torch.randn(pairs)]


def get_init_inputs():
    return [0.1]
