import torch
import torch.nn as nn


class Model(nn.Module):
    """Positions of spikes in a signal, -1 where there is none."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return torch.where(x > 3.5, places, -1)


def get_inputs():
    return [torch.randn(8192, 8192)]


def get_init_inputs():
    return []
