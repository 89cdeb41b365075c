"""One step of the Gray-Scott reaction-diffusion equations on periodic grids: a nine-point stencil on two fields."""

import torch
import torch.nn as nn


def laplacian(field):
    up, down = field.roll(1, 1), field.roll(-1, 1)
    sides = up + down + field.roll(1, 2) + field.roll(-1, 2)
    corners = up.roll(1, 2) + up.roll(-1, 2) + down.roll(1, 2) + down.roll(-1, 2)
    return 0.2 * sides + 0.05 * corners - field


class Model(nn.Module):
    def __init__(self, diffusion_u, diffusion_v, feed, kill):
        super().__init__()
        self.diffusion_u, self.diffusion_v = diffusion_u, diffusion_v
        self.feed, self.kill = feed, kill

    def forward(self, u, v):
        reaction = u * v * v
        u_next = u + self.diffusion_u * laplacian(u) - reaction + self.feed * (1.0 - u)
        v_next = v + self.diffusion_v * laplacian(v) + reaction - (self.feed + self.kill) * v
        return u_next, v_next


grids = 16
height = 2048
width = 2048


def get_inputs():
    return [torch.rand(grids, height, width), torch.rand(grids, height, width) * 0.5]


def get_init_inputs():
    return [1.0, 0.5, 0.055, 0.062]
