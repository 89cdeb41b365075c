import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Transposed convolution, extra bias, channel softmax, then weighting by the peak probability.
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.deconv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        y = self.deconv(x) + self.bias
        p = torch.softmax(y, dim=1)
        return p * torch.amax(p, dim=1, keepdim=True)


batch_size = 16
in_channels = 64
out_channels = 40
height = 64
width = 64
kernel_size = 4
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
