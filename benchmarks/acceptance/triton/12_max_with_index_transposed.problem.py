import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Values and indices of the maximum along the last dimension of a transposed (non-contiguous) tensor.
    """

    def __init__(self):
        super().__init__()

    def forward(self, x):
        values, indices = torch.max(x, dim=-1)
        return values, indices


batch = 16
rows = 1024
reduce_dim = 1200


def get_inputs():
    x = torch.randn(batch, reduce_dim, rows)
    return [x.transpose(1, 2)]


def get_init_inputs():
    return []
