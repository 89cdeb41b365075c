"""An image sampled at places moved by a flow field."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, image, flow):
        _, _, h, w = image.shape
        ys, xs = torch.meshgrid(
            torch.linspace(-1, 1, h, device=image.device), torch.linspace(-1, 1, w, device=image.device), indexing="ij"
        )
        grid = torch.stack([xs, ys], dim=-1).unsqueeze(0) + flow.permute(0, 2, 3, 1)
        return F.grid_sample(image, grid, mode="bilinear", padding_mode="border", align_corners=True)


def get_inputs():
    return [torch.rand(8, 3, 512, 512), 0.05 * torch.randn(8, 2, 512, 512)]


def get_init_inputs():
    return []
