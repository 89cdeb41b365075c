import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Reverse cumulative sum over time of masked values (reward-to-go).
    """

    def __init__(self):
        super().__init__()

    def forward(self, x, mask):
        v = x * mask
        return torch.flip(torch.cumsum(torch.flip(v, dims=[1]), dim=1), dims=[1])


batch_size = 32
time_steps = 1000
features = 512


def get_inputs():
    x = torch.randn(batch_size, time_steps, features)
    mask = torch.rand(batch_size, time_steps, features) > 0.3
    return [x, mask]


def get_init_inputs():
    return []
