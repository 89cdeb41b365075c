import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    GroupNorm followed by SiLU, as in diffusion residual blocks.
    """

    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels)

    def forward(self, x):
        return F.silu(self.gn(x))


batch_size = 16
num_channels = 320
num_groups = 32
height = 64
width = 64


def get_inputs():
    return [torch.randn(batch_size, num_channels, height, width)]


def get_init_inputs():
    return [num_groups, num_channels]
