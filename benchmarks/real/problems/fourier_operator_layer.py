"""Low frequencies of feature maps mixed by complex weights, added to a pointwise projection."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
width = 32
side = 256
modes = 16
TINY = {"batch": 1, "width": 3, "side": 8, "modes": 2}


class Model(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.low = nn.Parameter(torch.randn(width, width, modes, modes, 2) / width)
        self.high = nn.Parameter(torch.randn(width, width, modes, modes, 2) / width)
        self.point = nn.Conv2d(width, width, 1)

    def mixed(self, spectrum, weight):
        return torch.einsum("bihw,iohw->bohw", spectrum, torch.view_as_complex(weight))

    def forward(self, x):
        m = self.modes
        spectrum = torch.fft.rfft2(x, norm="ortho")
        out = torch.zeros_like(spectrum)
        out[:, :, :m, :m] = self.mixed(spectrum[:, :, :m, :m], self.low)
        out[:, :, -m:, :m] = self.mixed(spectrum[:, :, -m:, :m], self.high)
        return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:], norm="ortho") + self.point(x))


def get_inputs():
    return [torch.randn(batch, width, side, side)]


def get_init_inputs():
    return [width, modes]
