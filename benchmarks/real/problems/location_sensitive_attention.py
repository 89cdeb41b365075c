"""Attention of a speech decoder that also sees where it attended before, through a small convolution."""

import torch
import torch.nn as nn

batch = 64
frames = 512
width = 128
query = 512
filters = 32
TINY = {"batch": 2, "frames": 8, "width": 4, "query": 5, "filters": 3}


class Model(nn.Module):
    def __init__(self, width, query, filters):
        super().__init__()
        self.query, self.memory = nn.Linear(query, width, bias=False), nn.Linear(2 * width, width, bias=False)
        self.location = nn.Conv1d(2, filters, 15, padding=7, bias=False)
        self.filters, self.score = nn.Linear(filters, width, bias=False), nn.Linear(width, 1)

    def forward(self, query, memory, weights, lengths):
        past = torch.stack([weights, weights.cumsum(dim=1)], dim=1)
        energy = self.query(query).unsqueeze(1) + self.memory(memory)
        energy = self.score(torch.tanh(energy + self.filters(self.location(past).transpose(1, 2)))).squeeze(-1)
        late = torch.arange(memory.shape[1], device=query.device)[None, :] >= lengths[:, None]
        new = torch.softmax((8 * energy).masked_fill(late, float("-inf")), dim=-1)
        return torch.bmm(new.unsqueeze(1), memory).squeeze(1), new


def get_inputs():
    weights = torch.softmax(torch.randn(batch, frames), dim=-1)
    lengths = torch.randint(frames // 2, frames + 1, (batch,))
    return [torch.randn(batch, query), torch.randn(batch, frames, 2 * width), weights, lengths]


def get_init_inputs():
    return [width, query, filters]
