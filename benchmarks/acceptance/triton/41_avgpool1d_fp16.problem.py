import torch
import torch.nn as nn


class Model(nn.Module):
    """
    1D average pooling in float16 that does not count the padding.
    """

    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool1d(kernel_size, stride=stride, padding=padding, count_include_pad=False)

    def forward(self, x):
        return self.pool(x)


batch_size = 32
channels = 256
length = 5000
kernel_size = 8
stride = 3
padding = 2


def get_inputs():
    return [torch.rand(batch_size, channels, length).half()]


def get_init_inputs():
    return [kernel_size, stride, padding]
