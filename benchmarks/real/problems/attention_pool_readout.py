"""One learned query per head pools a padded sequence, and a projection reads it out."""

import torch
import torch.nn as nn

batch = 64
tokens = 256
width = 256
heads = 8
outputs = 128
TINY = {"batch": 2, "tokens": 6, "width": 8, "heads": 2, "outputs": 5}


class Model(nn.Module):
    def __init__(self, width, heads, outputs):
        super().__init__()
        self.query = nn.Parameter(torch.randn(heads, width // heads))
        self.out = nn.Linear(width, outputs)

    def forward(self, x, lengths):
        b, t, c = x.shape
        parts = x.view(b, t, self.query.shape[0], -1)
        scores = (parts * self.query).sum(-1)
        late = torch.arange(t, device=x.device)[None, :] >= lengths[:, None]
        weights = torch.softmax(scores.masked_fill(late.unsqueeze(-1), float("-inf")), dim=1)
        return self.out((weights.unsqueeze(-1) * parts).sum(dim=1).view(b, c))


def get_inputs():
    return [torch.randn(batch, tokens, width), torch.randint(1, tokens + 1, (batch,))]


def get_init_inputs():
    return [width, heads, outputs]
