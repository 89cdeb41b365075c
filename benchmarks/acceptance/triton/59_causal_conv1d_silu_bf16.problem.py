import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Depthwise causal 1D convolution and SiLU in bfloat16.
    The input is a (batch, dim, length) view of a (batch, length, dim) tensor.
    """

    def __init__(self, dim, width):
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(dim, dim, width, groups=dim, padding=width - 1).to(torch.bfloat16)

    def forward(self, x):
        L = x.shape[-1]
        return F.silu(self.conv(x)[..., :L])


batch_size = 8
length = 2048
dim = 1536
width = 4


def get_inputs():
    x = torch.randn(batch_size, length, dim).to(torch.bfloat16)
    return [x.transpose(1, 2)]


def get_init_inputs():
    return [dim, width]
