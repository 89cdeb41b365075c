"""Draft tokens are accepted by the ratio of target and draft probabilities; what is left over is normalised anew."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 64
draft = 5
vocabulary = 32000
TINY = {"batch": 2, "draft": 3, "vocabulary": 10}


class Model(nn.Module):
    def forward(self, target, proposal, tokens, uniform):
        p, q = torch.softmax(target, dim=-1), torch.softmax(proposal, dim=-1)
        chosen = tokens.unsqueeze(-1)
        ratio = p.gather(2, chosen).squeeze(-1) / q.gather(2, chosen).squeeze(-1)
        accepted = (uniform < ratio).to(torch.int64).cumprod(dim=1)
        rest = F.relu(p - q)
        return accepted.sum(dim=1), rest / rest.sum(dim=-1, keepdim=True).clamp(min=1e-10)


def get_inputs():
    shape = (batch, draft, vocabulary)
    return [torch.randn(shape), torch.randn(shape), torch.randint(0, vocabulary, shape[:2]), torch.rand(shape[:2])]


def get_init_inputs():
    return []
