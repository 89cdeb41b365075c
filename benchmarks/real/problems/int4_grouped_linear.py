"""A projection whose weights are packed two to a byte, with a scale and a zero for each group of inputs."""

import torch
import torch.nn as nn

tokens = 64
width = 4096
outputs = 4096
group = 128
TINY = {"tokens": 3, "width": 16, "outputs": 12, "group": 4}


class Model(nn.Module):
    def __init__(self, width, outputs, group):
        super().__init__()
        self.group = group
        self.register_buffer("packed", torch.randint(0, 256, (outputs, width // 2), dtype=torch.uint8))
        self.register_buffer("scale", (0.01 + 0.01 * torch.rand(outputs, width // group)).half())
        self.register_buffer("zero", torch.randint(0, 16, (outputs, width // group), dtype=torch.uint8))

    def forward(self, x):
        low, high = self.packed & 15, self.packed >> 4
        codes = torch.stack([low, high], dim=-1).flatten(1).view(self.packed.shape[0], -1, self.group)
        weight = (codes.half() - self.zero.half().unsqueeze(-1)) * self.scale.unsqueeze(-1)
        return x @ weight.flatten(1).t()


def get_inputs():
    return [torch.randn(tokens, width, dtype=torch.float16)]


def get_init_inputs():
    return [width, outputs, group]
