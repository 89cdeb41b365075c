import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Instance normalization with affine parameters, then leaky ReLU.
    """

    def __init__(self, channels, slope):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        self.slope = slope

    def forward(self, x):
        return F.leaky_relu(self.norm(x), negative_slope=self.slope)


batch_size = 24
channels = 64
height = 112
width = 112
slope = 0.1


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, slope]
