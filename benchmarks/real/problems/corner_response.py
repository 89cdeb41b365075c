"""Products of image gradients averaged over a window, and the corner measure with its local maxima kept."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
side = 640
TINY = {"batch": 1, "side": 12}


class Model(nn.Module):
    def forward(self, x):
        gx = F.pad(x[..., 2:] - x[..., :-2], (1, 1))
        gy = F.pad(x[..., 2:, :] - x[..., :-2, :], (0, 0, 1, 1))
        xx, yy, xy = (F.avg_pool2d(p, 5, stride=1, padding=2) for p in (gx * gx, gy * gy, gx * gy))
        response = xx * yy - xy * xy - 0.05 * (xx + yy) ** 2
        best = F.max_pool2d(response, 7, stride=1, padding=3)
        return torch.where(response >= best, response, torch.zeros_like(response))


def get_inputs():
    return [torch.rand(batch, 1, side, side)]


def get_init_inputs():
    return []
