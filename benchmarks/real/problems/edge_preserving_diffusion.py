"""Several steps of diffusion that is weak across strong gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
side = 512
TINY = {"batch": 1, "side": 8}


class Model(nn.Module):
    def __init__(self, rounds, contrast):
        super().__init__()
        self.rounds, self.contrast = rounds, contrast

    def forward(self, x):
        for _ in range(self.rounds):
            padded = F.pad(x, (1, 1, 1, 1), mode="replicate")
            change = torch.zeros_like(x)
            for dy, dx in ((0, 1), (2, 1), (1, 0), (1, 2)):
                d = padded[:, :, dy : dy + x.shape[2], dx : dx + x.shape[3]] - x
                change = change + d * torch.exp(-((d / self.contrast) ** 2))
            x = x + 0.2 * change
        return x


def get_inputs():
    return [torch.rand(batch, 1, side, side)]


def get_init_inputs():
    return [4, 0.1]
