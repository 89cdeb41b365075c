import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Convolution, then the gap between the channel maximum and the channel mean, then softplus.
    """

    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x):
        y = self.conv(x)
        gap = torch.amax(y, dim=1, keepdim=True) - torch.mean(y, dim=1, keepdim=True)
        return F.softplus(gap)


batch_size = 32
in_channels = 16
out_channels = 64
height = 96
width = 96
kernel_size = 3
padding = 1


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, padding]
