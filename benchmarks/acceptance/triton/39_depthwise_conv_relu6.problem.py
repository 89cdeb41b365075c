import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Depthwise 3x3 convolution with padding 1, bias and ReLU6.
    """

    def __init__(self, channels):
        super().__init__()
        self.dw = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x):
        return F.relu6(self.dw(x))


batch_size = 16
channels = 144
height = 96
width = 80


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels]
