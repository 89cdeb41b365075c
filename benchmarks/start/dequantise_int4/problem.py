"""Four-bit weights, two to a byte, with a scale and a zero point per group, to half precision."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, packed, scales, zeros):
        rows = packed.shape[0]
        values = torch.stack([packed & 0xF, packed >> 4], dim=-1).reshape(rows, -1, self.group)
        return ((values.half() - zeros[..., None]) * scales[..., None]).reshape(rows, -1)


rows = 16384
columns = 16384
group = 128


def get_inputs():
    return [
        torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8),
        torch.rand(rows, columns // group).half() * 0.1 + 0.01,
        torch.randint(0, 16, (rows, columns // group)).half(),
    ]


def get_init_inputs():
    return [group]
