import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Per-channel gate: x * sigmoid(scale * leaky_relu(x + bias)).
    The scale is a fixed buffer, the bias a learned parameter.
    """

    def __init__(self, channels, negative_slope):
        super().__init__()
        self.negative_slope = negative_slope
        self.bias = nn.Parameter(torch.randn(channels, 1, 1))
        self.register_buffer("scale", torch.linspace(0.5, 1.5, channels).view(channels, 1, 1))

    def forward(self, x):
        g = F.leaky_relu(x + self.bias, self.negative_slope)
        return x * torch.sigmoid(self.scale * g)


batch_size = 32
channels = 128
height = 96
width = 64
negative_slope = 0.2


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, negative_slope]
