"""A Poisson equation on a periodic grid solved in the frequency domain, with the gradient of the solution."""

import torch
import torch.nn as nn

batch = 16
side = 512
TINY = {"batch": 1, "side": 8}


class Model(nn.Module):
    def __init__(self, side):
        super().__init__()
        place = torch.arange(side).float()
        kx = torch.where(place < side / 2, place, place - side)[:, None]
        ky = place[None, : side // 2 + 1]
        square = kx * kx + ky * ky
        square[0, 0] = 1.0
        self.register_buffer("inverse", 100.0 / square)
        self.register_buffer("kx", kx.contiguous())
        self.register_buffer("ky", ky.contiguous())

    def slope(self, spectrum, k):
        return torch.fft.irfft2(torch.complex(-k * spectrum.imag, k * spectrum.real))

    def forward(self, source):
        spectrum = torch.fft.rfft2(source) * self.inverse
        u = torch.fft.irfft2(spectrum)
        gx, gy = self.slope(spectrum, self.kx), self.slope(spectrum, self.ky)
        return u, torch.sqrt(gx * gx + gy * gy)


def get_inputs():
    return [torch.randn(batch, side, side)]


def get_init_inputs():
    return [side]
