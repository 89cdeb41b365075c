"""The best score of any path through a chain of states, step by step, with a score for every end."""

import torch
import torch.nn as nn

batch = 512
length = 24
states = 64
TINY = {"batch": 2, "length": 4, "states": 3}


class Model(nn.Module):
    def __init__(self, states):
        super().__init__()
        self.transition = nn.Parameter(torch.randn(states, states))

    def forward(self, emissions):
        best = emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            best = (best.unsqueeze(2) + self.transition).amax(dim=1) + emissions[:, t]
        return best, best.amax(dim=1)


def get_inputs():
    return [torch.randn(batch, length, states)]


def get_init_inputs():
    return [states]
