import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Max pooling (kernel 3, stride 2, padding 1), a per-channel bias and ReLU.
    """

    def __init__(self, channels, kernel_size, stride, padding):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding)
        self.bias = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        return torch.relu(self.pool(x) + self.bias)


batch_size = 32
channels = 64
height = 112
width = 112
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [channels, kernel_size, stride, padding]
