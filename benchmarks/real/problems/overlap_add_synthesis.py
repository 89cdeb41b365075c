"""Spectra with predicted magnitude and phase turned into windowed frames that are added up where they overlap."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
frames = 512
bins = 513
hop = 256
TINY = {"batch": 2, "frames": 4, "bins": 5, "hop": 2}


class Model(nn.Module):
    def __init__(self, bins, hop):
        super().__init__()
        self.hop = hop
        self.register_buffer("window", torch.hann_window(2 * (bins - 1)))

    def forward(self, log_magnitude, phase):
        magnitude = torch.exp(log_magnitude).clamp(max=100.0)
        spectrum = torch.complex(magnitude * torch.cos(phase), magnitude * torch.sin(phase))
        parts = torch.fft.irfft(spectrum, dim=-1) * self.window
        length = (parts.shape[1] - 1) * self.hop + parts.shape[2]
        kernel = (1, parts.shape[2])
        total = F.fold(parts.transpose(1, 2), (1, length), kernel, stride=(1, self.hop))
        return total[:, 0, 0] / 1.5


def get_inputs():
    return [torch.randn(batch, frames, bins), torch.randn(batch, frames, bins)]


def get_init_inputs():
    return [bins, hop]
